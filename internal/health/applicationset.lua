-- Health of an ApplicationSet for its parent: Progressing until its Applications are healthy and in sync. For those who cannot install a plugin.
--
-- It needs an applicationset-controller with --enable-progressive-syncs (or applicationsetcontroller.enable.progressive.syncs in argocd-cmd-params-cm),
-- also for sets without RollingSync: only then does the controller write status.resources again when the health of an Application changes. Without it
-- the parent waits until a generator asks for its next look, and a list generator never does. Argo CD 3.4 or newer is better: older ones list a new
-- Application only some time after they have created it.
--
-- Where it is weaker than the appset plugin:
-- * A set has no observed generation. After an edit its status is about the old spec until the controller has looked, and the next wave may start.
-- * It sees of an Application only its health and whether it is in sync, not its operation. So it demands Synced: an Application that may not sync now,
--   is synced by hand or has drifted holds the next wave.
-- * A set without Applications looks like one that has not listed them yet, and is Progressing for ever.
-- * The list ends at 5,000 Applications (--max-resources-status-count, since 3.3; no limit before). With more the set is Progressing for ever.

local function health(status, message)
  return {status = status, message = message or ""}
end

local status = obj.status or {}

local function condition(kind, value)
  for _, c in pairs(status.conditions or {}) do
    if c.type == kind and c.status == value then
      return c
    end
  end
end

-- First as Argo CD's own check.
local failed = condition("ErrorOccurred", "True") or condition("ResourcesUpToDate", "False")
if failed ~= nil then
  return health("Degraded", failed.message)
end
local rollout = condition("RolloutProgressing", "True")
if rollout ~= nil then
  return health("Progressing", rollout.message)
end
if condition("ResourcesUpToDate", "True") == nil then
  return health("Progressing", "waiting for the applicationset-controller to reconcile it")
end

local listed, degraded, waiting = 0, nil, nil
for _, app in pairs(status.resources or {}) do
  listed = listed + 1
  local own = (app.health or {}).status or ""
  local sync = app.status or ""
  if own == "Degraded" and sync == "Synced" then
    degraded = degraded or "Application " .. app.name .. " is Degraded"
  elseif own == "" or sync == "" then
    waiting = waiting or "waiting for Argo CD to reconcile Application " .. app.name
  elseif own ~= "Healthy" or sync ~= "Synced" then
    waiting = waiting or "Application " .. app.name .. " is " .. own .. " and " .. sync
  end
end
if degraded ~= nil then
  return health("Degraded", degraded)
end
if waiting ~= nil then
  return health("Progressing", waiting)
end
if listed == 0 then
  return health("Progressing", "it lists no Applications; the applicationset-controller needs --enable-progressive-syncs")
end
if listed < (status.resourcesCount or 0) then
  return health("Progressing", "it lists " .. listed .. " of " .. status.resourcesCount .. " Applications; see --max-resources-status-count of the applicationset-controller")
end
return health("Healthy", "its " .. listed .. " Applications are healthy")
