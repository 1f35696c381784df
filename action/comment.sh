#!/usr/bin/env bash
# Posts a file as the one comment of Argosy on a pull request of GitHub: the first time it is made, then it is changed. If the token may not
# comment, as for pull requests from forks, that is a warning and no failure.
#
#   comment.sh FILE    GITHUB_REPOSITORY, PULL_REQUEST and GH_TOKEN are set; BOT is who GH_TOKEN is, github-actions[bot] by default
set -euo pipefail
marker='<!-- argosy -->'
body=$(mktemp)
errors=$(mktemp)
trap 'rm -f "$body" "$errors"' EXIT
{
	echo "$marker"
	cat "$1"
} >"$body"
comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
# A comment of somebody else that begins in the same way is not changed: its author could change it back.
export BOT=${BOT:-github-actions[bot]}

post() {
	local ids
	ids=$(gh api --paginate "$comments" --jq ".[] | select(.user.login == env.BOT and (.body | startswith(\"$marker\"))) | .id") || return
	if [ -n "$ids" ]; then
		gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/${ids%%$'\n'*}" -F "body=@$body"
	else
		gh api --silent --method POST "$comments" -F "body=@$body"
	fi
}

code=0
post 2>"$errors" || code=$?
cat "$errors" >&2
if [ "$code" != 0 ] && grep -qE 'HTTP 403\)?$' "$errors"; then
	echo "::warning title=Argosy::GitHub refused the comment with the plan (HTTP 403). Pull requests from forks have a token that may only read;" \
		"others need the permission pull-requests: write. The plan is in the summary of this run."
	exit 0
fi
exit "$code"
