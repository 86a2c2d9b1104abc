-- gnn.lua: a number, or a class, of each graph, such as how well a molecule dissolves: nodes that send messages along edges.
--
-- In each round a node's state goes along its edges, through a matrix that depends on the kind of edge; a node adds up
-- what comes and updates its state as a GRU does.  In the end all states of a graph add up.  (Gilmer et al. 2017, Neural
-- message passing for quantum chemistry, section 2; these messages, updates and sums are those of Li et al. 2016.)
-- Graphs are filled up with nodes and edges of kind 0, which send nothing and do not count.

-- What edges [B, E, 2] of kinds [B, E] bring to each node: h [B, N, C] -> [B, N, C].  An edge leads from its first node
-- to its second.
local function messages(c, h, edges, kinds)
  local B, N, C = h:size(0), h:size(1), h:size(2)
  local by_kind = nn.linear(h, { name = "message", out = c.edge_kinds * C, bias = false }):reshape { B, N * c.edge_kinds, C }
  local sent = by_kind:gather(edges:select(-1, 0) * c.edge_kinds + kinds, 1, 1)                 -- [B, E, C]
  sent = nn.where(nn.ne(kinds, 0):unsqueeze(-1), sent, 0)
  return nn.scatter_add(sent, edges:select(-1, 1), N, 1, 1)
end

-- What a graph is in the end: states h and kinds of nodes as they began, x [B, N, C] -> [B, C]
local function readout(c, h, x, counts)
  local gate = nn.sigmoid(nn.linear(nn.concat({ h, x }, -1), { name = "gate", out = c.width }))
  local said = nn.tanh(nn.linear(h, { name = "said", out = c.width }))
  return nn.where(counts:unsqueeze(-1), gate * said, 0):sum(1)
end

return {
  config = {
    nodes = 47, edges = 100, node_kinds = 12, edge_kinds = 4,     -- at most; kinds with that of what fills up
    classes = 0,                                                  -- of graphs; 0: the target is a number
    width = 48, rounds = 4,
    batch = 32, lr = 1e-3, steps = 1500,
  },

  configs = {
    gpu = { width = 256, rounds = 6, batch = 512, steps = 20000 },
  },

  inputs = function(c)
    return {
      node = { "i32", "nodes", below = "node_kinds" },
      edge = { "i32", "edges", 2, below = "nodes" },
      edge_kind = { "i32", "edges", below = "edge_kinds" },
      target = c.classes > 0 and { "i32", below = "classes", target = true } or { "f32", target = true },
    }
  end,

  forward = function(c, input)
    local counts = nn.ne(input.node, 0)
    local x = nn.embedding(input.node, { name = "nodes", rows = c.node_kinds, width = c.width, init = nn.init.normal(1) })
    local update = nn.gru_step { name = "update", hidden = c.width }
    local h = nn.scan(nn.iota(c.rounds), x, function(_, h)
      return (update(messages(c, h, input.edge, input.edge_kind), { h }))
    end, { axis = 0 })
    local embedding = readout(c, h, x, counts)
    local hidden = nn.relu(nn.linear(embedding, { name = "hidden", out = c.width }))
    if c.classes > 0 then
      local logits = nn.linear(hidden, { name = "head", out = c.classes })
      return nn.cross_entropy(logits, input.target), {
        logits = logits, embedding = embedding, accuracy = nn.accuracy(logits, input.target),
      }
    end
    local prediction = nn.linear(hidden, { name = "head", out = 1 }):squeeze(-1)
    return nn.mse(prediction, input.target), { prediction = prediction, embedding = embedding }
  end,

  train = function(c)
    return {
      optimizer = optim.adam { lr = c.lr }, schedule = optim.cosine { warmup = 50 }, clip = 1.0,
      steps = c.steps, eval_every = c.steps // 5,
    }
  end,

  data = data.arrays { val_fraction = 0.2 },
}
