-- Health of an Application for its parent: what it says of itself, once it has looked at what it is asked to be now.
--
-- Argo CD's own status can be older than the spec: a child whose spec has just changed is still Healthy, and the next wave would start.
-- So first: has it compared itself with this very spec, and is no sync about to happen or running?
-- It does not demand Synced: a child that may not sync now, by a sync window or because it is synced by hand, says so by its health.

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
local annotations = (obj.metadata or {}).annotations or {}
local sync = status.sync or {}
local operation = status.operationState

local own = status.health
if own == nil or empty(own.status) then
  return health("Progressing", "waiting for Argo CD to look at it")
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
-- A sync ends before Argo CD has looked at what it has changed. Until then status.health is about what was there before. Times are in seconds.
local ended, looked = (operation or {}).finishedAt, status.reconciledAt
if ended ~= nil and looked ~= nil and (ended > looked or ended == looked and sync.status ~= "Synced") then
  return health("Progressing", "waiting for Argo CD to look at it after its sync")
end

local seen = sync.comparedTo
if seen == nil then
  return health("Progressing", "waiting for Argo CD to compare it with its source")
end
if not same(spec.destination, seen.destination) then
  return health("Progressing", "waiting for Argo CD to look at its new destination")
end
-- With a hydrator the source that is compared is made by Argo CD.
if spec.sourceHydrator == nil and not (same(spec.source, seen.source) and same(spec.sources, seen.sources)) then
  return health("Progressing", "waiting for Argo CD to look at its new source")
end

if sync.status ~= "Synced" and own.status == "Healthy" then
  if sync.status == "Unknown" then
    for _, condition in pairs(status.conditions or {}) do
      if condition.type == "ComparisonError" or condition.type == "InvalidSpecError" then
        return health("Progressing", condition.message)
      end
    end
  end
  if operation ~= nil and (operation.phase == "Failed" or operation.phase == "Error") then
    return health("Progressing", "its last sync has failed: " .. (operation.message or ""))
  end
end
return health(own.status, own.message)
