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
# Arguments may be on several lines; read returns 1 at the end of its input.
read -rd '' -a both <<<"${ARGOSY_ARGS:-}" || true
read -rd '' -a plan <<<"${PLAN_ARGS:-}" || true
read -rd '' -a lint <<<"${LINT_ARGS:-}" || true

# show prints a log. It has names from the pull request, so GitHub must not take its lines for commands.
show() {
	local token=
	if [ -n "${GITHUB_ACTIONS:-}" ]; then
		token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
		echo "::stop-commands::$token"
	fi >&2
	cat "$1" >&2
	[ -z "$token" ] || echo "::$token::" >&2
}

argosy plan --diff "$base..." -o markdown "${plan[@]}" "${both[@]}" >"$out/plan.md" 2>"$out/plan.err"
planned=$?
show "$out/plan.err"
if [ ! -s "$out/plan.md" ]; then
	{
		printf '**Argosy could not plan this change** (exit code %s):\n\n' "$planned"
		head -c 20000 "$out/plan.err" | sed 's/^/    /' # nothing ends a block that is indented
	} >"$out/plan.md"
fi

# worse keeps the worst exit code. Usage and failure are worse than findings.
worst=0
worse() {
	case "$1:$worst" in
	0:* | 3:[!0]*) ;;
	*) worst=$1 ;;
	esac
}
worse "$planned"

for format in sarif gitlab ${GITHUB_ACTIONS:+github}; do
	file="$out/lint.$format"
	[ "$format" = github ] && file=/dev/stdout # GitHub reads annotations from the log
	argosy lint --diff "$base..." -o "$format" "${lint[@]}" "${both[@]}" >"$file" 2>"$out/lint.err"
	code=$?
	worse "$code"
	case "$code" in
	0 | 3) ;;
	*) show "$out/lint.err" ;;
	esac
done
case "$code" in
0 | 3) show "$out/lint.err" ;; # of the last one: those that do not fail say the same
esac
exit "$worst"
