-- diffusion.lua: characters out of noise: a transformer without order learns by how much each character is likelier than
-- the one there, at every noise level (score entropy discrete diffusion, Lou, Meng and Ermon 2024, uniform transitions).

local function scale_and_shift(x, scale, shift) return x * (1 + scale:unsqueeze(1)) + shift:unsqueeze(1) end

local function linear(x, name, out, bias, sd)
  return nn.linear(x, { name = name, out = out, bias = bias, init = nn.init.normal(sd or 0.02) })
end

-- How much noise there is, sigma [B], as cosines and sines of many frequencies, and through two layers: [B, cond].
local function conditioning(c, sigma)
  local h = nn.silu(linear(nn.sinusoidal(sigma, 256), "in", c.cond, true))
  return nn.silu(linear(h, "out", c.cond, true))
end

-- x [B, T, C]; cond [B, cond] decides how both branches are scaled, shifted and gated
local function block(c, x, cond)
  local last = 0.02 / math.sqrt(2 * c.layers)
  local shift1, scale1, gate1, shift2, scale2, gate2 = linear(cond, "modulation", 6 * c.width, true):chunk(6, -1)
  local norm = nn.layernorm { name = "ln_1", bias = false }
  local attention = nn.attention { name = "attn", heads = c.heads, bias = false, dropout = c.dropout,
    init = nn.init.normal(0.02), out_init = nn.init.normal(last) }
  local a = nn.dropout(attention(scale_and_shift(norm(x), scale1, shift1)), c.dropout)
  if c.doubled then a = nn.dropout(attention(norm(a)), c.dropout) end
  x = x + gate1:unsqueeze(1) * a
  local h = scale_and_shift(nn.layernorm(x, { name = "ln_2", bias = false }), scale2, shift2)
  h = nn.mlp(h, { name = "mlp", hidden = 4 * c.width, bias = false, init = nn.init.normal(0.02), out_init = nn.init.normal(last) })
  return x + gate2:unsqueeze(1) * nn.dropout(h, c.dropout)
end

-- tokens [B, T], noise sigma [B]  ->  log of how much likelier each character is than the one there [B, T, V]
local function score(c, tokens, sigma)
  local cond = nn.scope("noise", conditioning, c, sigma)
  local x = nn.embedding(tokens, { name = "embed", rows = c.vocab, width = c.width })
  x = nn.dropout(x + nn.position_embedding(tokens, { name = "positions", context = c.seq, width = c.width }), c.dropout)
  x = nn.stack(c.layers, x, function(x) return block(c, x, cond) end, { name = "h" })
  x = nn.layernorm(x, { name = "ln", bias = false })
  local shift, scale = linear(cond, "modulation", 2 * c.width, true):chunk(2, -1)
  x = scale_and_shift(nn.layernorm(x, { name = "ln_out", bias = false }), scale, shift)
  local here = nn.eq(nn.iota(c.vocab), tokens:unsqueeze(-1))
  return nn.where(here, 0, linear(x, "head", c.vocab, true)), here
end

-- Noise up to level sigma [B]: each character moves to another one with probability (1 - e^-sigma)(1 - 1 / V).
local function moved(c, tokens, sigma)
  local moves = nn.bernoulli(tokens, ((1 - nn.exp(-sigma)) * (1 - 1 / c.vocab)):unsqueeze(1))
  local other = nn.integers(tokens, c.vocab - 1)
  return nn.where(moves, other + nn.le(tokens, other):cast("i32"), tokens)
end

-- Score entropy [B, T] of log scores l [B, T, V], where now is one-hot at the noised characters.
local function score_entropy(c, l, now, tokens, noised, sigma)
  local others, N = c.vocab - 1, c.vocab
  local E = nn.where(nn.lt(sigma, 0.5), nn.expm1(sigma), nn.exp(sigma) - 1)
  local r = nn.max(E / (E + N), 1e-12):unsqueeze(1)
  l = nn.min(l, 30)
  local function apart(x) return nn.where(now, 0, x):sum(-1) / others end       -- mean over the other characters
  local original = nn.where(nn.eq(nn.iota(N), tokens:unsqueeze(-1)), l, 0):sum(-1)
  local positive, base, same = apart(nn.exp(l)), apart(l), nn.eq(tokens, noised)
  local negative = nn.where(same, r * base, original / (r * others) + (N - 2) / others * base)
  local constant = nn.where(same, r * (nn.log(r) - 1), ((-nn.log(r) - 1) / r - (N - 2)) / others)
  return positive - negative + constant
end

-- Noise at time t in 0 … 1; its logarithm grows evenly.
local function noise(c, t) return nn.exp(math.log(c.least) + t * math.log(c.most / c.least)) end

-- Tokens [B, T] with noise sigma, drawn with `less` of it (scalars): the reverse kernel of that step is its scores times the
-- probability that each character became the one that is there (analytic sampling; less = sigma: all noise is taken away).
local function denoised(c, tokens, sigma, less)
  local l, now = score(c, tokens, sigma:expand { c.batch })
  local ratio, N, stay = nn.exp(nn.min(l, 30)), c.vocab, nn.exp(-less)
  local before = (ratio - (1 - stay) / N * ratio:sum(-1):unsqueeze(-1)) / stay
  local p = before * nn.where(now, stay + (1 - stay) / N, (1 - stay) / N)
  return (nn.log(nn.max(p, 1e-30)) + nn.gumbel(p)):argmax(-1)
end

return {
  config = {
    layers = 6, heads = 6, width = 384, cond = 64, seq = 256, batch = 128, vocab = 65, dropout = 0.2,
    least = 1e-4, most = 20.0,          -- noise at times 0 and 1
    doubled = false,                    -- true: attention is applied to its own result once more, as the first program did
    chain = 128,                        -- steps from noise to text, and one that takes the rest of the noise away

    tokenizer = "chars",
    lr = 1e-4, decay = 0.01, clip = 1.0, steps = 10000, eval_every = 1000, samples = 2,
  },

  configs = {
    doubled = { doubled = true },
    cpu = { layers = 3, heads = 4, width = 128, seq = 64, batch = 16, dropout = 0.0, lr = 3e-4, steps = 1000, eval_every = 250, chain = 64 },
  },

  decode = false,

  forward = function(c, input)
    local tokens = input.tokens
    local t = nn.uniform(tokens:select(1, 0), c.least, 1)
    local sigma = noise(c, t)
    local noised = moved(c, tokens, sigma)
    local l, now = score(c, noised, sigma)
    local loss = score_entropy(c, l, now, tokens, noised, sigma)
    local rate = sigma * math.log(c.most / c.least)
    return (rate:unsqueeze(1) * loss):mean()
  end,

  -- Characters that are given (a prompt) stay; all others begin as noise.
  sample = function(c, input)
    local given, step = input.tokens, (1 - c.least) / c.chain
    local function with_given(x) return nn.where(nn.lt(given, 0), x, given) end
    return nn.scan(nn.iota(c.chain + 1), with_given(nn.integers(given, c.vocab)), function(i, x)
      local t = 1 - i:cast("f32") * step
      local sigma = noise(c, nn.max(t, c.least))
      local less = nn.where(nn.lt(i, c.chain), sigma - noise(c, t - step), sigma)
      return with_given(denoised(c, x, sigma, less))
    end, { axis = 0 })
  end,

  train = function(c)
    return { optimizer = optim.adamw { lr = c.lr, decay = c.decay }, clip = c.clip, steps = c.steps, eval_every = c.eval_every, samples = c.samples }
  end,

  data = function(c) return data.text { tokenizer = c.tokenizer, val_fraction = 0.1 } end,
}
