-- Health of an Application for its parent: what it says of itself, once it has looked at what it is asked to be now.
--
-- Argo CD's own status can be older than the spec: a child whose spec has just changed is still Healthy, and the next wave would start.
-- So first: has it compared itself with this very spec, and is no sync about to happen or running?
-- It does not demand Synced: a child that may not sync now, by a sync window or because it is synced by hand, says so by its health.
--
-- What it cannot know: commits that the child has not seen; and, since Argo CD 3.4, which of a child's objects are missing. A child that is partly
-- deployed and that nothing will sync (a sync window, no automated sync) is as healthy as the part that is there.

local function empty(v)
  if v == nil or v == "" or v == false then
    return true
  end
  if type(v) ~= "table" then
    return false
  end
  for _, e in pairs(v) do
    if not empty(e) then
      return false
    end
  end
  return true
end

-- Argo CD leaves out what is empty, so that counts for nothing.
local function same(a, b)
  if empty(a) and empty(b) then
    return true
  end
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for k, v in pairs(a) do
    if not same(v, b[k]) then
      return false
    end
  end
  for k, v in pairs(b) do
    if a[k] == nil and not empty(v) then
      return false
    end
  end
  return true
end

local function health(status, message)
  return {status = status, message = message or ""}
end

local status = obj.status or {}
local spec = obj.spec or {}
local metadata = obj.metadata or {}
local annotations = metadata.annotations or {}
local sync = status.sync or {}
local operation = status.operationState

-- An Application that deploys itself, such as a root: its own sync would wait for the end of its own sync. Its tracking names the one application that
-- waits for it, which is itself, so nothing else loses by this, and its own health leaves itself out anyway (isSelfReferencedApp, controller/health.go).
local function deploysItself()
  local name, namespace = metadata.name, metadata.namespace
  if status.controllerNamespace == nil or name == nil or namespace == nil then
    return false
  end
  local instance = name
  if namespace ~= status.controllerNamespace then
    instance = namespace .. "_" .. name
  end
  local tracking = annotations["argocd.argoproj.io/tracking-id"]
  if tracking ~= nil then
    return tracking == instance .. ":argoproj.io/Application:" .. namespace .. "/" .. name
  end
  return (metadata.labels or {})["app.kubernetes.io/instance"] == instance
end

if deploysItself() then
  return health("Healthy", "it deploys itself, so its sync does not wait for it")
end

local own = status.health
if own == nil or empty(own.status) then
  return health("Progressing", "waiting for Argo CD to reconcile it")
end
if annotations["argocd.argoproj.io/skip-reconcile"] == "true" then
  return health(own.status, own.message)
end

if obj.operation ~= nil then
  return health("Progressing", "a sync is about to start")
end
if operation ~= nil and (operation.phase == "Running" or operation.phase == "Terminating") then
  return health("Progressing", "a sync is running: " .. (operation.message or ""))
end

if sync.status == "Unknown" and (own.status == "Healthy" or own.status == "Unknown") then
  for _, condition in pairs(status.conditions or {}) do
    if condition.type == "ComparisonError" or condition.type == "InvalidSpecError" then
      return health("Progressing", condition.message)
    end
  end
end

local seen = sync.comparedTo
if seen == nil then
  return health("Progressing", "waiting for Argo CD to compare it with its source")
end
if not same(spec.destination, seen.destination) then
  return health("Progressing", "waiting for Argo CD to compare it with its new destination")
end
-- With a hydrator the source that is compared is made by Argo CD.
if spec.sourceHydrator == nil and not (same(spec.source, seen.source) and same(spec.sources, seen.sources)) then
  return health("Progressing", "waiting for Argo CD to compare it with its new source")
end

-- Argo CD clears the operation before it looks at what the operation has done, and what is not deployed yet does not make an Application unhealthy: so
-- its health may be older than its last wave. Times are in seconds. Objects that only need pruning stay out of sync for ever if pruning is off, and
-- after self-healing the objects are those of before: neither is waited for.
local function lookedAtSync()
  if operation == nil or operation.phase ~= "Succeeded" or operation.finishedAt == nil or status.reconciledAt == nil or status.reconciledAt > operation.finishedAt then
    return true
  end
  local asked = (operation.operation or {}).sync or {}
  if (asked.autoHealAttemptsCount or 0) > 0 then
    return true
  end
  for _, resource in pairs(status.resources or {}) do
    if resource.status == "OutOfSync" and not resource.requiresPruning then
      return false
    end
  end
  return true
end

if sync.status == "OutOfSync" and not lookedAtSync() then
  return health("Progressing", "waiting for Argo CD to compare it after its sync")
end
if sync.status ~= "Synced" and own.status == "Healthy" and operation ~= nil and (operation.phase == "Failed" or operation.phase == "Error") then
  return health("Progressing", "its last sync has failed: " .. (operation.message or ""))
end
return health(own.status, own.message)
