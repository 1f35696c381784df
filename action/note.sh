#!/usr/bin/env bash
# Posts a file as the one note of Argosy on a merge request of GitLab: the first time it is made, then it is changed.
#
#   note.sh FILE    GITLAB_TOKEN and the variables of a merge request's pipeline are set
set -euo pipefail
marker='[argosy]: # (plan)' # it is not shown, and JSON leaves it as it is
notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{
	printf '%s\n\n' "$marker"
	cat "$1"
} >"$body"
# The token goes by standard input: arguments can be seen by others.
call() { curl --fail --silent --show-error --config - "$@" <<<"header = \"PRIVATE-TOKEN: $GITLAB_TOKEN\""; }
# There may be no jq. A quote in a text is \" in JSON, so no text of somebody else looks like these fields. A note of somebody else that
# begins in the same way is not changed.
me=$(call "$CI_API_V4_URL/user" | grep -oE '^\{"id":[0-9]+' | tr -dc 0-9)
own='"id":[0-9]+(,"type":[^,]*)?,"body":"\[argosy\]: # \(plan\)([^"\\]|\\.)*"(,"attachment":[^,]*)?,"author":\{"id":'$me','
id=
for ((page = 1; page <= 100; page++)); do
	list=$(call "$notes?per_page=100&page=$page&sort=asc&order_by=created_at")
	id=$(grep -oE "$own" <<<"$list" | sed -n '1s/^"id":\([0-9]*\).*/\1/p' || true)
	[ -z "$id" ] && [ "$list" != '[]' ] || break
done
if [ -n "$id" ]; then
	call --output /dev/null --request PUT --data-urlencode "body@$body" "$notes/$id"
else
	call --output /dev/null --request POST --data-urlencode "body@$body" "$notes"
fi
