#!/usr/bin/env bash
# Posts a file as the one comment of Argosy on a pull request of GitHub: the first time it is made, then it is changed.
#
#   comment.sh FILE    GITHUB_REPOSITORY, PULL_REQUEST and GH_TOKEN are set
set -euo pipefail
marker='<!-- argosy -->'
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
	echo "$marker"
	cat "$1"
} >"$body"
comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
id=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
if [ -n "$id" ]; then
	gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$body"
else
	gh api --silent --method POST "$comments" -F "body=@$body"
fi
