-- Makes the requests of wrk: wrk -s bench/load.lua URL -- KIND TOKENS [PATH], where TOKENS is a file with a token per
-- line. Each thread uses the tokens in turn, one per request. A KIND that `kinds` lacks is a GET of PATH.
-- KIND `register` is a POST, then a DELETE of the new webhook. `register` needs one connection per thread, and as many
-- tokens (of different entities) as threads, so that no two threads share an entity.
local base = "/apientidades/v1/webhooks"
local body = '{"url": "https://integracion.ejemplo.es/notificaciones", "eventos": ["evaluacion.abierta"], '
  .. '"secreto": "whsec_YmFuY28gZGUgcHJ1ZWJhcyBkZSBub3RpZmljYWNpb25lcw=="}'

local function with_token(method, path, text)
  return function(token)
    local headers = { Authorization = "Bearer " .. token, ["Content-Type"] = text and "application/json" }
    return wrk.format(method, path, headers, text)
  end
end

local kinds = {
  list = with_token("GET", base),
  events = with_token("GET", base .. "/eventos"),
  wrong_token = function() return wrk.format("GET", base, { Authorization = "Bearer apie_" .. string.rep("x", 43) }) end,
  quotes = function() return wrk.format("GET", "/" .. string.rep('"', 8000)) end,
  no_token = function() return wrk.format("GET", base) end,
  test = with_token("POST", base .. "/test", '{"evento": "evaluacion.abierta", "datosExtra": {"n": 1}}'),
  register = with_token("POST", base, body),
}

-- `path` is whole, or below /webhooks.
local function get(path) return with_token("GET", path:find("/apientidades/", 1, true) == 1 and path or base .. path) end

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

local tokens, requests, registered = {}, {}, nil
function init(arguments)
  local make = kinds[arguments[1]] or get(arguments[3])
  for token in io.lines(arguments[2]) do
    tokens[#tokens + 1] = token
    requests[#requests + 1] = make(token)
  end
  if arguments[1] == "register" then
    request, response = register_or_delete, remember
  end
end

local turn = 0
function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function register_or_delete()
  if not registered then return requests[number + 1] end
  return with_token("DELETE", base .. "/" .. registered)(tokens[number + 1])
end

function remember(status, _, text)
  registered = status == 201 and text:match('"id":(%d+)') or nil
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'JSON {"requests": %d, "seconds": %.6f, "p50_ms": %.4f, "p99_ms": %.4f, "refused": %d, "broken": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
