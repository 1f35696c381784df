#!/usr/bin/env bash
# Posts a file as the one comment of Argosy on a pull request of GitHub: the first time it is made, then it is changed.
#
#   comment.sh FILE    GITHUB_REPOSITORY, PULL_REQUEST and GH_TOKEN are set; BOT is who GH_TOKEN is, github-actions[bot] by default
set -euo pipefail
marker='<!-- argosy -->'
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
	echo "$marker"
	cat "$1"
} >"$body"
comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
# A comment of somebody else that begins in the same way is not changed: its author could change it back.
export BOT=${BOT:-github-actions[bot]}
id=$(gh api --paginate "$comments" --jq ".[] | select(.user.login == env.BOT and (.body | startswith(\"$marker\"))) | .id" | sed -n 1p)
if [ -n "$id" ]; then
	gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$body"
else
	gh api --silent --method POST "$comments" -F "body=@$body"
fi
