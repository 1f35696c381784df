#!/usr/bin/env bash
# What a pull request changes, and what will go wrong: plan.md, and the findings as SARIF, GitLab's code quality and annotations.
# Needs the repository with its history, and argosy; no cluster, no secret.
#
#   review.sh BASE OUT    compare HEAD with the merge base of BASE, write to the directory OUT
#
# ARGOSY_ARGS are arguments of both commands, such as a root or --clusters; PLAN_ARGS and LINT_ARGS those of one. The exit code is the worst
# of both: 0 nothing to see, 1 failed, 2 usage, 3 findings.
set -uo pipefail
base=$1 out=$2
mkdir -p "$out"
read -ra both <<<"${ARGOSY_ARGS:-}"
read -ra plan <<<"${PLAN_ARGS:-}"
read -ra lint <<<"${LINT_ARGS:-}"

argosy plan --diff "$base..." -o markdown "${plan[@]}" "${both[@]}" >"$out/plan.md" 2>"$out/plan.err"
planned=$?
cat "$out/plan.err" >&2
if [ ! -s "$out/plan.md" ]; then
	{
		echo "**Argosy could not plan this change** (exit code $planned):"
		echo '```'
		cat "$out/plan.err"
		echo '```'
	} >"$out/plan.md"
fi

linted=0
for format in sarif gitlab ${GITHUB_ACTIONS:+github}; do
	file="$out/lint.$format"
	[ "$format" = github ] && file=/dev/stdout # GitHub reads annotations from the log
	argosy lint --diff "$base..." -o "$format" "${lint[@]}" "${both[@]}" >"$file"
	code=$?
	[ "$code" -gt "$linted" ] && linted=$code
done

# Usage and failure are worse than findings.
worst=0
for code in "$planned" "$linted"; do
	case "$code:$worst" in
	0:*) ;;
	3:0) worst=3 ;;
	3:*) ;;
	*) worst=$code ;;
	esac
done
exit "$worst"
