---@meta
-- Made by `lathe stubs`: what a description may name, for editors that know LuaCATS.

---@class lathe.Init

---A tensor of a description: known shape, no values yet.
---@class lathe.Tensor
---@field shape integer[]
---@field rank integer
---@field dtype "f32"|"i32"|"bool"
---@operator add(lathe.Tensor|number): lathe.Tensor
---@operator sub(lathe.Tensor|number): lathe.Tensor
---@operator mul(lathe.Tensor|number): lathe.Tensor
---@operator div(lathe.Tensor|number): lathe.Tensor
---@operator pow(lathe.Tensor|number): lathe.Tensor
---@operator idiv(lathe.Tensor|number): lathe.Tensor
---@operator mod(lathe.Tensor|number): lathe.Tensor
---@operator unm: lathe.Tensor
local Tensor = {}

--- negation
---@return lathe.Tensor
function Tensor:neg() end

--- absolute value
---@return lathe.Tensor
function Tensor:abs() end

--- -1, 0 or 1
---@return lathe.Tensor
function Tensor:sign() end

--- e to the power a
---@return lathe.Tensor
function Tensor:exp() end

--- exp(a) - 1, exact near 0
---@return lathe.Tensor
function Tensor:expm1() end

--- natural logarithm
---@return lathe.Tensor
function Tensor:log() end

--- log(1 + a), exact near 0
---@return lathe.Tensor
function Tensor:log1p() end

--- square root
---@return lathe.Tensor
function Tensor:sqrt() end

--- 1 / sqrt(a)
---@return lathe.Tensor
function Tensor:rsqrt() end

--- sine, radians
---@return lathe.Tensor
function Tensor:sin() end

--- cosine, radians
---@return lathe.Tensor
function Tensor:cos() end

--- hyperbolic tangent
---@return lathe.Tensor
function Tensor:tanh() end

--- error function
---@return lathe.Tensor
function Tensor:erf() end

--- log(1 + exp(a)), a smooth relu
---@return lathe.Tensor
function Tensor:softplus() end

--- largest integer not above a
---@return lathe.Tensor
function Tensor:floor() end

--- sum
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:add(b) end

--- difference
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:sub(b) end

--- product
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:mul(b) end

--- quotient
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:div(b) end

--- a to the power b, a > 0
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:pow(b) end

--- quotient rounded down
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:idiv(b) end

--- remainder, sign of b
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:mod(b) end

--- bits set in both
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:bitand(b) end

--- bits set in one of the two
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:bitxor(b) end

--- a below b
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:lt(b) end

--- a not above b
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:le(b) end

--- a equals b
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:eq(b) end

--- a differs from b
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:ne(b) end

--- a below b, both read as unsigned 32-bit integers
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:ult(b) end

--- not a
---@return lathe.Tensor
function Tensor:lnot() end

--- a and b
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:land(b) end

--- a or b
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:lor(b) end

--- sum over axes
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:sum(axis, ...) end

--- largest over axes; the gradient goes to all tied elements, divided by their number
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:max(axis, ...) end

--- smallest over axes; its gradient as rmax's
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:min(axis, ...) end

--- smallest over axes
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:min(axis, ...) end

--- bool: whether it holds, or is not 0, anywhere
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:any(axis, ...) end

--- bool: whether it holds, or is not 0, everywhere
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:all(axis, ...) end

--- product
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:prod(axis, ...) end

--- sum of (x - mean)^2 / (n - correction); correction: 1 (the default, as PyTorch's) or 0
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:var(axis, ...) end

--- square root of x:var
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:std(axis, ...) end

--- log of the sum of exp(x)
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:logsumexp(axis, ...) end

--- (sum of |x|^p)^(1/p); p: 2 (the default), any positive number, or math.huge: the largest |x|; its gradient at 0 is 0
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:norm(axis, ...) end

--- i32: first index of the smallest along an axis, which goes away, or of all elements
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:argmin(axis, ...) end

--- a where the bool tensor holds, else b
---@param a lathe.Tensor|number
---@param b lathe.Tensor|number
---@return lathe.Tensor
function Tensor:where(a, b) end

--- another type; real to integer truncates, to bool: not 0
---@param type "f32"|"i32"|"bool"
---@return lathe.Tensor
function Tensor:cast(type) end

--- the same values; no gradient flows through (detach of PyTorch)
---@return lathe.Tensor
function Tensor:stop_gradient() end

--- mean over axes (all if none is named); {axis, keep = true} keeps them as 1
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function Tensor:mean(axis, ...) end

--- the same elements in order, another shape; one extent may be -1
---@param extents integer|integer[]
---@param ... integer
---@return lathe.Tensor
function Tensor:reshape(extents, ...) end

--- axes in another order: for each new axis the old one
---@param axes integer|integer[]
---@param ... integer
---@return lathe.Tensor
function Tensor:permute(axes, ...) end

--- two axes exchanged
---@param a integer
---@param b integer
---@return lathe.Tensor
function Tensor:transpose(a, b) end

--- a new axis of extent 1
---@param axis integer
---@return lathe.Tensor
function Tensor:unsqueeze(axis) end

--- without that axis of extent 1
---@param axis integer
---@return lathe.Tensor
function Tensor:squeeze(axis) end

--- axes of extent 1 repeated; -1 keeps an axis
---@param extents integer[]
---@return lathe.Tensor
function Tensor:expand(extents) end

--- elements first … beyond - 1 of an axis; negative ones count from the end
---@param axis integer
---@param first? integer
---@param beyond? integer
---@param step? integer
---@return lathe.Tensor
function Tensor:slice(axis, first, beyond, step) end

--- one element of an axis, which goes away
---@param axis integer
---@param index integer
---@return lathe.Tensor
function Tensor:select(axis, index) end

--- n equal parts of an axis
---@param n integer
---@param axis integer
---@return lathe.Tensor, ...
function Tensor:chunk(n, axis) end

--- an axis reversed
---@param axis integer
---@return lathe.Tensor
function Tensor:flip(axis) end

--- zeros around
---@param axis integer
---@param before integer
---@param after? integer
---@return lathe.Tensor
function Tensor:pad(axis, before, after) end

--- rows along an axis picked by ids; the first `shared` axes of both run together
---@param ids lathe.Tensor
---@param axis? integer
---@param shared? integer
---@return lathe.Tensor
function Tensor:gather(ids, axis, shared) end

--- the entries at ids along an axis replaced
---@param ids lathe.Tensor
---@param updates lathe.Tensor
---@param axis? integer
---@param shared? integer
---@return lathe.Tensor
function Tensor:overwrite(ids, updates, axis, shared) end

--- i32: first index of the largest along an axis, which goes away, or of all elements
---@param axis? integer|table
---@return lathe.Tensor
function Tensor:argmax(axis) end

--- running sum along an axis
---@param axis integer
---@param backwards? boolean
---@return lathe.Tensor
function Tensor:cumsum(axis, backwards) end

--- running product along an axis
---@param axis integer
---@param backwards? boolean
---@return lathe.Tensor
function Tensor:cumprod(axis, backwards) end

--- i32: last index of the largest so far along an axis
---@param axis integer
---@param backwards? boolean
---@return lathe.Tensor
function Tensor:cumargmax(axis, backwards) end

--- i32: the indices along an axis (the last) in the order of its elements; of equal ones the first comes first
---@param axis? integer
---@param descending? boolean
---@return lathe.Tensor
function Tensor:argsort(axis, descending) end

--- the k largest in falling order, and their i32 indices
---@param k integer
---@param axis? integer
---@return lathe.Tensor, lathe.Tensor
function Tensor:topk(k, axis) end

--- matrix product of the last two axes; b is one matrix, or has the same batch axes
---@param b lathe.Tensor
---@return lathe.Tensor
function Tensor:matmul(b) end

--- extent of an axis
---@param axis integer
---@return integer
function Tensor:size(axis) end

--- nn.softmax of it
---@param ... any
---@return lathe.Tensor
function Tensor:softmax(...) end

--- nn.log_softmax of it
---@param ... any
---@return lathe.Tensor
function Tensor:log_softmax(...) end

--- nn.relu of it
---@param ... any
---@return lathe.Tensor
function Tensor:relu(...) end

--- nn.gelu of it
---@param ... any
---@return lathe.Tensor
function Tensor:gelu(...) end

--- nn.silu of it
---@param ... any
---@return lathe.Tensor
function Tensor:silu(...) end

--- nn.sigmoid of it
---@param ... any
---@return lathe.Tensor
function Tensor:sigmoid(...) end

--- nn.clamp of it
---@param ... any
---@return lathe.Tensor
function Tensor:clamp(...) end

--- nn.cummax of it
---@param ... any
---@return lathe.Tensor
function Tensor:cummax(...) end

--- nn.cummin of it
---@param ... any
---@return lathe.Tensor
function Tensor:cummin(...) end

--- nn.sort of it
---@param ... any
---@return lathe.Tensor
function Tensor:sort(...) end

---@class data.arrays.options
---@field area? number least part of a picture that a zoomed crop takes (default: 0.08)
---@field crop? string likewise, of the input `pictures`, as all that follows (default: centre)
---@field cutmix? number likewise, but a rectangle of the other picture takes the place of its part; 0: none (default: 0)
---@field cutout? integer side of a black square in each picture in training; 0: none (default: 0)
---@field flip? boolean half of the pictures in training are mirrored (default: false)
---@field group? string split = "group": the array [rows] whose equal values stay on one side; it need not be an input
---@field jitter? number light, contrast and colour in training vary by up to this part (default: 0)
---@field mixup? number pictures are mixed in pairs in training, by a share of Beta(this, this); 0: none (default: 0)
---@field pad? integer black pixels around a picture that a random crop may reach into (default: 0)
---@field pictures? string the input whose rows are pictures, uint8, which vary in training
---@field split? string which rows are kept: the "last", by their "hash", whole "group"s, or "stratified": alike of each class (default: last)
---@field val_fraction? number part of the rows kept for evaluation (default: 0.1)

---@class data.csv.options
---@field group? string split = "group": the column whose equal values stay on one side
---@field split? string which rows are kept: the "last", by their "hash", whole "group"s, or "stratified": alike of each class (default: last)
---@field target string the column with the class; every other column is a feature
---@field val_fraction? number part of the rows kept for evaluation (default: 0.1)
---@field weight? string column with the weights of rows: input.weight, f32 [batch]; it is no feature

---@class data.images.options
---@field area? number least part of a picture that a zoomed crop takes (default: 0.08)
---@field crop? string the part of a picture in training: "centre", "random": anywhere, or "zoom": also of random size (default: centre)
---@field cutmix? number likewise, but a rectangle of the other picture takes the place of its part; 0: none (default: 0)
---@field cutout? integer side of a black square in each picture in training; 0: none (default: 0)
---@field flip? boolean half of the pictures in training are mirrored (default: false)
---@field interpolation? string how pictures are resized: "bilinear", "bicubic", both antialiased, or "nearest" (default: bilinear)
---@field jitter? number light, contrast and colour in training vary by up to this part (default: 0)
---@field mixup? number pictures are mixed in pairs in training, by a share of Beta(this, this); 0: none (default: 0)
---@field pad? integer black pixels around a picture that a random crop may reach into (default: 0)
---@field resize? integer length of the shorter side before the crop; 0: just enough to cover it (default: 0)
---@field split? string which pictures are kept: "last" and "hash": by hashes of their names, or "stratified": alike of each class (default: last)
---@field val_fraction? number part of the pictures kept for evaluation, by hashes of their names (default: 0.1)

---@class data.pairs.options
---@field bad_records? integer malformed records that are skipped; default: 0
---@field bos? string token that the decoder begins with, by its text or id; default: the tokenizer's, or an id beyond
---@field buckets? integer batches among which rows are sorted by length; 0: not sorted; default: 100
---@field eos? string token after each target; default: the tokenizer's, or an id beyond
---@field eval_tokens? integer most tokens that an evaluation reads; default: 1048576
---@field on_long? string what does not fit into source_seq and seq: "cut" or "skip" (default: cut)
---@field pad? string token that fills short rows; default: the tokenizer's, or an id beyond
---@field shuffle_tokens? integer tokens shuffled with each other; default: 4194304
---@field source? string field or column of the source; default: "source", or "prompt"
---@field target? string field or column of the target; default: "target", or "completion"
---@field targets? string a list of strings as target: "join" it, take the "first", or "each" as a pair (default: join)
---@field tokenizer? string "bytes", "chars", or a file or folder of one, from the description's folder on (default: bytes)
---@field val_fraction? number part of the pairs kept for evaluation, by hashes of their sources (default: 0.1)

---@class data.series.options
---@field drop? string columns to leave out: "id,name"
---@field known? string columns known ahead too: "holiday,price"
---@field missing? string missing values: "refuse" or "fill": the last value before them in their series (default: refuse)
---@field past? string columns known of the past alone, which are not forecast: "wind,rain"
---@field series? string column that says which series a row belongs to; default: a file is a series
---@field split? string what is kept: the "last" rows of each series, or whole series: by their "hash", or as "group"s until the part is reached (default: last)
---@field stride? integer rows between the beginnings of two windows (default: 1)
---@field target? string columns to forecast: "load,heat"; default: all of numbers that have no other use
---@field time? string column with the time of a row: a number or a date, which rises; default: rows in their order
---@field val_fraction? number part of the rows kept for evaluation: the last of each series; with split, of the series (default: 0.1)

---@class data.table.options
---@field categories? string columns of numbers or dates that are categories: "zip,code"
---@field drop? string columns to leave out: "id,name"
---@field group? string split = "group": the column whose equal values stay on one side
---@field split? string which rows are kept: the "last", by their "hash", whole "group"s, or "stratified": alike of each class (default: last)
---@field target string the column to predict, or several of numbers: "price,rooms"
---@field task? string "class", "real", or "auto": text and few whole numbers are classes (default: auto)
---@field val_fraction? number part of the rows kept for evaluation (default: 0.1)
---@field weight? string column with the weights of rows: input.weight, f32 [batch]; it is no other input

---@class data.text.options
---@field bad_records? integer epochs: malformed records that are skipped; default: 0
---@field bos? string epochs: special token before each document; default: none
---@field documents? string what a document of plain text is: "file", "blank" (between blank lines), "line", or "whole" (sequences run on) (default: file)
---@field eos? string epochs: special token after each document; default: <|endoftext|> if the tokenizer has it
---@field eval_tokens? integer epochs: most tokens that an evaluation reads; default: 1048576
---@field loss_on? string pairs and chats: "target" (and what the assistant says) or "all"; default: target with pack, else they are refused
---@field mix? any[] epochs: weights of the sources, one for each path of --data: { 7, 3 }
---@field order? string "windows" drawn anywhere (default for plain files), "epochs": documents, shuffled, or "contiguous": each row of the batch a stretch, read to its end
---@field pack? boolean epochs: documents stay apart: input.segments, input.positions, and targets of -1 that do not count (default: false)
---@field raw_id_size? integer epochs: bytes of an id in .bin files without a header: 2 or 4; default: such are refused
---@field sep? string pairs: token between source and target, or "none"; default: a newline
---@field shuffle_tokens? integer epochs: tokens shuffled with each other; default: 4194304
---@field stride? integer epochs: distance between sequences of a document; default: seq
---@field targets? string pairs whose target is a list: "join" it, take the "first", or "each" as a pair; default: join
---@field tokenizer? string "bytes", "chars", or a file or folder of one, from the description's folder on (default: bytes)
---@field val_fraction? number part of the text kept for evaluation: the last; with order "epochs" documents, by their hashes (default: 0.1)

---@class nn.accuracy.options
---@field ignore? integer an id that does not count; default: none, or -1 if the data has it

---@class nn.adaptive_avg_pool1d.options
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: adaptive_avg_pool1d
---@field size integer|integer[] extents of the result: an integer, or a list with one for each axis

---@class nn.adaptive_avg_pool2d.options
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: adaptive_avg_pool2d
---@field size integer|integer[] extents of the result: an integer, or a list with one for each axis

---@class nn.adaptive_avg_pool3d.options
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: adaptive_avg_pool3d
---@field size integer|integer[] extents of the result: an integer, or a list with one for each axis

---@class nn.adaptive_max_pool1d.options
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: adaptive_max_pool1d
---@field size integer|integer[] extents of the result: an integer, or a list with one for each axis

---@class nn.adaptive_max_pool2d.options
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: adaptive_max_pool2d
---@field size integer|integer[] extents of the result: an integer, or a list with one for each axis

---@class nn.adaptive_max_pool3d.options
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: adaptive_max_pool3d
---@field size integer|integer[] extents of the result: an integer, or a list with one for each axis

---@class nn.additive_attention.options
---@field bias? boolean whether W_d has a bias (default: false)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field lengths? lathe.Tensor i32 [batch]: length of the memory
---@field name? string part of the layer path; default: additive_attention
---@field width integer of what tanh is applied to

---@class nn.attend.options
---@field causal? boolean whether query t sees only keys up to offset + t (default: false)
---@field context? integer positions that decode remembers; default: seq
---@field dropout? number on the probabilities (default: 0)
---@field lengths? lathe.Tensor i32 [batch…]: number of keys
---@field memory_segments? lathe.Tensor i32 [batch…, S], of the keys; default: segments
---@field memory_turns? lathe.Tensor of the keys; default: turns
---@field offset? lathe.Tensor i32 []: position of query 0 among the keys; default: 0
---@field probabilities? boolean whether they are returned as well (default: false)
---@field scale? number of q · k; default: 1 / sqrt(D)
---@field score_bias? lathe.Tensor|fun(queries: lathe.Tensor, keys: lathe.Tensor): lathe.Tensor added to the scores: a tensor that fits [batch…, H, T, S], or a function of positions i32 [T], [S] that gives one
---@field segments? lathe.Tensor i32 [batch…, T]: a query sees the keys of its own segment
---@field soft_cap? number a score becomes soft_cap · tanh(score / soft_cap); default: it stays
---@field turns? lathe.Tensor [T, D] or [batch…, T, D]: q and k are rotated by them (rotary positions, nn.turns)
---@field window? integer number of keys that a query sees, back from the one at offset + t; 0: all (default: 0)

---@class nn.attention.options
---@field bias? boolean whether the projections have a bias (default: true)
---@field causal? boolean whether a position sees only itself and earlier ones (default: false)
---@field context? integer positions that decode remembers; default: seq
---@field dropout? number on the probabilities (default: 0)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field fused? boolean one weight for q, k, v (self-attention) (default: true)
---@field head_width? integer default: width / heads
---@field heads integer number of heads
---@field init? number|lathe.Init of the weights of q, k, v
---@field kv_heads? integer number of key and value heads, shared by groups of heads; default: heads
---@field layout? string of the weights, see nn.linear (default: out_in)
---@field lengths? lathe.Tensor i32 [batch]: number of keys
---@field name? string part of the layer path; default: attention
---@field names? any[] of the projections; default: { "qkv", "out" }, or { "q", "k", "v", "out" } where not fused
---@field out_bias? boolean whether the last one has; default: bias
---@field out_init? number|lathe.Init of the last weight; default: as init
---@field probabilities? boolean whether they are returned as well, [batch, heads, time, length], after dropout (default: false)
---@field qk_norm? string|false|fun(y: lathe.Tensor, name: string): lathe.Tensor of q and k before rotary positions: "rmsnorm" or "layernorm" of each head, "rmsnorm_wide" of all heads at once, or a function of y [batch, time, heads, D] and a name (default: false)
---@field qkv_bias? boolean whether those of q, k, v have; default: bias
---@field rotary? number base of rotary positions, such as 10000; 0: none (default: 0)
---@field scale? number of q · k; default: 1 / sqrt(head_width)
---@field score_bias? lathe.Tensor|fun(queries: lathe.Tensor, keys: lathe.Tensor): lathe.Tensor added to the scores: nn.alibi(heads), nn.relative_bias, or as in nn.attend
---@field segments? lathe.Tensor i32 [batch, time]: a position sees those of its own segment (packed documents)
---@field soft_cap? number a score becomes soft_cap · tanh(score / soft_cap); default: it stays
---@field window? integer number of positions that it sees, back from its own; 0: all (default: 0)

---@class nn.avg_pool1d.options
---@field ceil_mode? boolean whether a last window may reach beyond the padding (default: false)
---@field count_include_pad? boolean whether padding counts, as zeros (default: true)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field kernel integer|integer[] elements of a window; as all of these one, or a list with one for each axis
---@field name? string part of the layer path; default: avg_pool1d
---@field padding? integer|integer[] elements around x (default: 0)
---@field stride? integer|integer[] from one window to the next; default: kernel

---@class nn.avg_pool2d.options
---@field ceil_mode? boolean whether a last window may reach beyond the padding (default: false)
---@field count_include_pad? boolean whether padding counts, as zeros (default: true)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field kernel integer|integer[] elements of a window; as all of these one, or a list with one for each axis
---@field name? string part of the layer path; default: avg_pool2d
---@field padding? integer|integer[] elements around x (default: 0)
---@field stride? integer|integer[] from one window to the next; default: kernel

---@class nn.avg_pool3d.options
---@field ceil_mode? boolean whether a last window may reach beyond the padding (default: false)
---@field count_include_pad? boolean whether padding counts, as zeros (default: true)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field kernel integer|integer[] elements of a window; as all of these one, or a list with one for each axis
---@field name? string part of the layer path; default: avg_pool3d
---@field padding? integer|integer[] elements around x (default: 0)
---@field stride? integer|integer[] from one window to the next; default: kernel

---@class nn.batchnorm.options
---@field affine? boolean whether there are a weight and a bias for each channel (default: true)
---@field eps? number added to the variance (default: 1e-05)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field momentum? number share of a batch in the running mean and variance (default: 0.1)
---@field name? string part of the layer path; default: batchnorm

---@class nn.bce_with_logits.options
---@field pos_weight? lathe.Tensor|number weight of targets of 1 relative to those of 0: a number, or a tensor that fits the logits
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.conv1d.options
---@field bias? boolean whether a bias is added (default: true)
---@field causal? boolean whether a result sees only its own and earlier inputs, then zeros; T' = T (default: false)
---@field dilation? integer|integer[] from one tap to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field groups? integer groups of channels that are independent; with one channel per group, depthwise (default: 1)
---@field init? number|lathe.Init of the weight; default: uniform within 1 / sqrt(C / groups * taps)
---@field kernel integer|integer[] taps; as all of these an integer, or a list with one for each axis
---@field name? string part of the layer path; default: conv1d
---@field out integer channels of the result
---@field padding? integer|integer[]|"same" zeros at both ends of an axis; "same": as many as give a result per element (default: 0)
---@field stride? integer|integer[] from one result to the next (default: 1)

---@class nn.conv2d.options
---@field bias? boolean whether a bias is added (default: true)
---@field dilation? integer|integer[] from one tap to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field groups? integer groups of channels that are independent; with one channel per group, depthwise (default: 1)
---@field init? number|lathe.Init of the weight; default: uniform within 1 / sqrt(C / groups * taps)
---@field kernel integer|integer[] taps; as all of these an integer, or a list with one for each axis
---@field name? string part of the layer path; default: conv2d
---@field out integer channels of the result
---@field padding? integer|integer[]|"same" zeros at both ends of an axis; "same": as many as give a result per element (default: 0)
---@field stride? integer|integer[] from one result to the next (default: 1)

---@class nn.conv3d.options
---@field bias? boolean whether a bias is added (default: true)
---@field dilation? integer|integer[] from one tap to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field groups? integer groups of channels that are independent; with one channel per group, depthwise (default: 1)
---@field init? number|lathe.Init of the weight; default: uniform within 1 / sqrt(C / groups * taps)
---@field kernel integer|integer[] taps; as all of these an integer, or a list with one for each axis
---@field name? string part of the layer path; default: conv3d
---@field out integer channels of the result
---@field padding? integer|integer[]|"same" zeros at both ends of an axis; "same": as many as give a result per element (default: 0)
---@field stride? integer|integer[] from one result to the next (default: 1)

---@class nn.conv_transpose1d.options
---@field bias? boolean whether a bias is added (default: true)
---@field dilation? integer|integer[] from one tap to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field groups? integer groups of channels that are independent; with one channel per group, depthwise (default: 1)
---@field init? number|lathe.Init of the weight; default: uniform within 1 / sqrt(out / groups * taps)
---@field kernel integer|integer[] taps; as all of these an integer, or a list with one for each axis
---@field name? string part of the layer path; default: conv_transpose1d
---@field out integer channels of the result
---@field output_padding? integer|integer[] results more at the end (default: 0)
---@field padding? integer|integer[] results dropped at both ends (default: 0)
---@field stride? integer|integer[] from one result to the next (default: 1)

---@class nn.conv_transpose2d.options
---@field bias? boolean whether a bias is added (default: true)
---@field dilation? integer|integer[] from one tap to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field groups? integer groups of channels that are independent; with one channel per group, depthwise (default: 1)
---@field init? number|lathe.Init of the weight; default: uniform within 1 / sqrt(out / groups * taps)
---@field kernel integer|integer[] taps; as all of these an integer, or a list with one for each axis
---@field name? string part of the layer path; default: conv_transpose2d
---@field out integer channels of the result
---@field output_padding? integer|integer[] results more at the end (default: 0)
---@field padding? integer|integer[] results dropped at both ends (default: 0)
---@field stride? integer|integer[] from one result to the next (default: 1)

---@class nn.conv_transpose3d.options
---@field bias? boolean whether a bias is added (default: true)
---@field dilation? integer|integer[] from one tap to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field groups? integer groups of channels that are independent; with one channel per group, depthwise (default: 1)
---@field init? number|lathe.Init of the weight; default: uniform within 1 / sqrt(out / groups * taps)
---@field kernel integer|integer[] taps; as all of these an integer, or a list with one for each axis
---@field name? string part of the layer path; default: conv_transpose3d
---@field out integer channels of the result
---@field output_padding? integer|integer[] results more at the end (default: 0)
---@field padding? integer|integer[] results dropped at both ends (default: 0)
---@field stride? integer|integer[] from one result to the next (default: 1)

---@class nn.cosine_embedding.options
---@field margin? number cosine up to which targets of -1 cost nothing (default: 0.0)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.cosine_similarity.options
---@field axis? integer along which the vectors lie; it goes away (default: -1)
---@field eps? number least norm that is divided by (default: 1e-08)

---@class nn.cross_entropy.options
---@field ignore? integer an id that does not count; default: none, or -1 if the data has it
---@field other? lathe.Tensor classes that ids are mixed with, shaped like ids: input.label_other of mixup
---@field reduction? string over the ids that count; "sum" or "none" (default: mean)
---@field share? lathe.Tensor the part of ids in each mixture, the rest of which is `other`: input.label_share
---@field smoothing? number part of each target that all classes share evenly (default: 0)
---@field weight? lathe.Tensor [classes]: how much each class counts

---@class nn.ctc.options
---@field blank? integer the class that is no label (default: 0)
---@field reduction? string "mean" (of the losses over target lengths), "sum" or "none" (default: mean)
---@field zero_infinity? boolean whether targets that do not fit into their time cost 0, not infinity (default: false)

---@class nn.embedding.options
---@field decay? boolean whether weight decay applies; default: yes
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field init? number|lathe.Init of the table
---@field name? string part of the layer path; default: embedding
---@field padding? integer an id whose row is zero and stays so
---@field rows integer number of different ids
---@field width integer extent of a row

---@class nn.embedding_bag.options
---@field decay? boolean whether weight decay applies; default: yes
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field init? number|lathe.Init of the table
---@field mode? string mean, sum or max (default: mean)
---@field name? string part of the layer path; default: embedding_bag
---@field padding? integer an id that does not count; nothing but it gives 0
---@field rows integer number of different ids
---@field width integer extent of a row

---@class nn.focal.options
---@field alpha? number weight of targets of 1; targets of 0 have 1 - alpha; below 0: all have 1 (default: 0.25)
---@field gamma? number how much what is predicted well counts less, 0 or more (default: 2.0)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.gaussian_nll.options
---@field eps? number least variance that is counted with (default: 1e-06)
---@field full? boolean whether the constant ½ log 2π is added (default: false)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.groupnorm.options
---@field affine? boolean whether there are a weight and a bias for each channel (default: true)
---@field eps? number added to the variance (default: 1e-05)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field groups integer into which the channels, the last axis, are divided
---@field name? string part of the layer path; default: groupnorm

---@class nn.gru.options
---@field bias? string|false "two" vectors as in PyTorch, "one" (bias_ih) or false (default: two)
---@field bidirectional? boolean whether each layer also runs from the end; results side by side, [B, T, 2H] (default: false)
---@field carry? boolean whether a batch begins with the last state of the batch before, if its text continues (else with start) (default: false)
---@field dropout? number between layers (default: 0)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer H
---@field layers? integer number of layers (default: 1)
---@field lengths? lathe.Tensor i32 [batch]: where samples end (reverse: begin); results past it are zero
---@field name? string part of the layer path; default: gru
---@field start? lathe.Tensor the first state, shaped like the last; default: zeros

---@class nn.gru_step.options
---@field bias? string|false "two" vectors as in PyTorch, "one" (bias_ih) or false (default: two)
---@field dropout? number between layers (default: 0)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer H
---@field layers? integer number of layers (default: 1)
---@field name? string part of the layer path; default: gru_step

---@class nn.hinge_embedding.options
---@field margin? number distance from which on targets of -1 cost nothing (default: 1.0)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.huber.options
---@field delta? number where the square ends (default: 1.0)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.info_nce.options
---@field both? boolean whether b also looks for its a, as in CLIP; the loss is the mean of both (default: true)
---@field normalize? boolean whether the vectors are scaled to length 1 (default: true)
---@field temperature? lathe.Tensor|number that similarities are divided by: a number, or a learned scalar (default: 0.07)

---@class nn.instancenorm.options
---@field affine? boolean whether each channel has a weight, by which the result is multiplied, and a bias, which is added (default: false)
---@field eps? number added to the variance (default: 1e-05)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: instancenorm

---@class nn.kl_div.options
---@field log_target? boolean whether target holds logarithms too (default: false)
---@field reduction? string "mean" (over elements), "batchmean" (the sum, over the first axis' extent), "sum" or "none" (default: mean)

---@class nn.l1.options
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.layernorm.options
---@field bias? boolean whether a bias is added (default: true)
---@field eps? number added to the variance (default: 1e-05)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: layernorm

---@class nn.linear.options
---@field bias? boolean whether a bias is added (default: true)
---@field bias_init? number|lathe.Init of the bias (default: 0)
---@field decay? boolean whether weight decay applies to the weight; default: yes
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field init? number|lathe.Init of the weight; default: uniform within 1 / sqrt(in)
---@field layout? string "out_in": weight [out, in] as in PyTorch; "in_out": [in, out] as in GPT-2 (default: out_in)
---@field name? string part of the layer path; default: linear
---@field out? integer extent of the result's last axis
---@field weight? lathe.Tensor a weight [out, in] that exists already, such as an embedding's

---@class nn.linear_cross_entropy.options
---@field bias? lathe.Tensor [classes]
---@field ignore? integer an id that does not count; default: none, or -1 if the data has it; it need not be a class
---@field layout? string of the weight; "in_out": [width, classes] (default: out_in)
---@field row_weight? lathe.Tensor weight of each id's loss in the sum, [...]; default: the mean over the ids that count
---@field smoothing? number part of each target that all classes share evenly (default: 0)
---@field weight lathe.Tensor [classes, width], such as nn.linear's, or an embedding's

---@class nn.local_response_norm.options
---@field alpha? number factor of the mean (default: 0.0001)
---@field beta? number exponent (default: 0.75)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field k? number added to the mean (default: 1)
---@field name? string part of the layer path; default: local_response_norm
---@field size integer channels of a mean; of an even number one more before the channel than after it

---@class nn.lstm.options
---@field bias? string|false "two" vectors as in PyTorch, "one" (bias_ih) or false (default: two)
---@field bidirectional? boolean whether each layer also runs from the end; results side by side, [B, T, 2H] (default: false)
---@field carry? boolean whether a batch begins with the last state of the batch before, if its text continues (else with start) (default: false)
---@field dropout? number between layers (default: 0)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer H
---@field layers? integer number of layers (default: 1)
---@field lengths? lathe.Tensor i32 [batch]: where samples end (reverse: begin); results past it are zero
---@field name? string part of the layer path; default: lstm
---@field start? table the first state, shaped like the last; default: zeros

---@class nn.lstm_step.options
---@field bias? string|false "two" vectors as in PyTorch, "one" (bias_ih) or false (default: two)
---@field dropout? number between layers (default: 0)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer H
---@field layers? integer number of layers (default: 1)
---@field name? string part of the layer path; default: lstm_step

---@class nn.map.options
---@field name? string part of the layer path
---@field over? lathe.Tensor|table a tensor [n, …] or a table of such: copy i is f(i, slice i)

---@class nn.margin_ranking.options
---@field margin? number by how much the right one must be larger (default: 0.0)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.max_pool1d.options
---@field ceil_mode? boolean whether a last window may reach beyond the padding (default: false)
---@field dilation? integer|integer[] from one element of a window to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field kernel integer|integer[] elements of a window; as all of these one, or a list with one for each axis
---@field name? string part of the layer path; default: max_pool1d
---@field padding? integer|integer[] elements around x (default: 0)
---@field stride? integer|integer[] from one window to the next; default: kernel

---@class nn.max_pool2d.options
---@field ceil_mode? boolean whether a last window may reach beyond the padding (default: false)
---@field dilation? integer|integer[] from one element of a window to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field kernel integer|integer[] elements of a window; as all of these one, or a list with one for each axis
---@field name? string part of the layer path; default: max_pool2d
---@field padding? integer|integer[] elements around x (default: 0)
---@field stride? integer|integer[] from one window to the next; default: kernel

---@class nn.max_pool3d.options
---@field ceil_mode? boolean whether a last window may reach beyond the padding (default: false)
---@field dilation? integer|integer[] from one element of a window to the next (default: 1)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field kernel integer|integer[] elements of a window; as all of these one, or a list with one for each axis
---@field name? string part of the layer path; default: max_pool3d
---@field padding? integer|integer[] elements around x (default: 0)
---@field stride? integer|integer[] from one window to the next; default: kernel

---@class nn.mlp.options
---@field activation? string gelu, gelu_tanh, relu, silu, tanh, sigmoid, leaky_relu, elu, selu, relu6, hardswish, mish (default: gelu)
---@field bias? boolean whether both have a bias (default: true)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer width between the two
---@field init? number|lathe.Init of the first weight
---@field layout? string of both weights, see nn.linear (default: out_in)
---@field name? string part of the layer path; default: mlp
---@field names? any[] of the two linear layers
---@field out? integer default: as x
---@field out_init? number|lathe.Init of the second weight; default: as init

---@class nn.mse.options
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.nll.options
---@field ignore? integer an id that does not count; default: none, or -1 if the data has it
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)
---@field weight? lathe.Tensor [classes]: how much each class counts

---@class nn.normalize.options
---@field axis? integer along which the vectors lie (default: -1)
---@field eps? number least norm that is divided by (default: 1e-12)
---@field p? number of the norm, see x:norm (default: 2)

---@class nn.one_hot.options
---@field ignore? integer an id whose row is all 0

---@class nn.pairwise_distance.options
---@field eps? number added to each difference, so that there is a gradient at 0 (default: 1e-06)
---@field keep? boolean whether the last axis stays, with extent 1 (default: false)
---@field p? number of the norm, see x:norm (default: 2)

---@class nn.param.options
---@field decay? boolean whether weight decay applies; default: from two axes on
---@field export? string name in checkpoints, with %d for each nn.stack around it
---@field init? number|lathe.Init values before training (default: 0)
---@field name string its name in the scope
---@field shape any[] extents

---@class nn.pinball.options
---@field quantiles? number|number[] between 0 and 1: a number, or a list with one for each element of x's last axis (default: 0.5)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.poisson_nll.options
---@field eps? number added to x before its logarithm is taken, if log_input = false (default: 1e-08)
---@field full? boolean whether Stirling's approximation of log target! is added, for targets above 1 (default: false)
---@field log_input? boolean whether x is the logarithm of the rate (default: true)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.position_embedding.options
---@field context integer rows of the table
---@field decay? boolean whether weight decay applies; default: yes
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field init? number|lathe.Init of the table
---@field name? string part of the layer path; default: position_embedding
---@field positions? lathe.Tensor i32 [B, T]: such as input.positions; default: 0 … T-1
---@field width integer extent of a row

---@class nn.relative_bias.options
---@field both? boolean whether keys after the query have half of the buckets; default: they count as distance 0 (default: false)
---@field buckets? integer of distances (default: 32)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field heads integer of the attention
---@field init? number|lathe.Init of the numbers [buckets, heads]
---@field most? integer distances from this one on are in the last bucket (default: 128)
---@field name? string part of the layer path; default: relative_bias

---@class nn.rmsnorm.options
---@field eps? number added to the mean (default: 1e-06)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field name? string part of the layer path; default: rmsnorm

---@class nn.rnn.options
---@field activation? string tanh or relu (default: tanh)
---@field bias? string|false "two" vectors as in PyTorch, "one" (bias_ih) or false (default: two)
---@field bidirectional? boolean whether each layer also runs from the end; results side by side, [B, T, 2H] (default: false)
---@field carry? boolean whether a batch begins with the last state of the batch before, if its text continues (else with start) (default: false)
---@field dropout? number between layers (default: 0)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer H
---@field layers? integer number of layers (default: 1)
---@field lengths? lathe.Tensor i32 [batch]: where samples end (reverse: begin); results past it are zero
---@field name? string part of the layer path; default: rnn
---@field start? lathe.Tensor the first state, shaped like the last; default: zeros

---@class nn.rnn_step.options
---@field activation? string tanh or relu (default: tanh)
---@field bias? string|false "two" vectors as in PyTorch, "one" (bias_ih) or false (default: two)
---@field dropout? number between layers (default: 0)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer H
---@field layers? integer number of layers (default: 1)
---@field name? string part of the layer path; default: rnn_step

---@class nn.scan.options
---@field axis? integer the axis of xs that is walked (default: 1)
---@field carry? boolean whether a batch begins with the last state of the batch before, if its text continues (default: false)
---@field lengths? lathe.Tensor i32 [batch]: from that step on a sample keeps its state and gives zeros
---@field reverse? boolean whether it runs from the last to the first (default: false)

---@class nn.sinusoidal.options
---@field alternate? boolean sine, cosine, sine, … (Vaswani et al. 2017); default: the cosines, then the sines (default: false)
---@field base? number the rates fall towards 1 / base (default: 10000)

---@class nn.smooth_l1.options
---@field beta? number where the square ends (default: 1.0)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.soft_margin.options
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)

---@class nn.stack.options
---@field name? string part of the layer path

---@class nn.swiglu.options
---@field bias? boolean whether the three have a bias (default: false)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field hidden integer width between
---@field init? number|lathe.Init of gate and up
---@field name? string part of the layer path; default: swiglu
---@field names? any[] of the three linear layers
---@field out? integer default: as x
---@field out_init? number|lathe.Init of down; default: as init

---@class nn.triplet_margin.options
---@field eps? number of nn.pairwise_distance (default: 1e-06)
---@field margin? number by how much the negative must be farther away (default: 1.0)
---@field p? number of the norm, see x:norm (default: 2)
---@field reduction? string of the elements' losses: "mean", "sum" or "none" (default: mean)
---@field swap? boolean whether the negative's distance is that from the positive, if it is nearer to it (default: false)

---@class nn.upsample.options
---@field align_corners? boolean whether first and last elements of x and result coincide; else outer edges (default: false)
---@field export? string beginning of its names in checkpoints, with %d for each nn.stack around it
---@field mode? string nearest, or means of neighbours: linear, bilinear, trilinear for 1, 2, 3 axes (default: nearest)
---@field name? string part of the layer path; default: upsample
---@field scale? number|number[] instead of size: factors
---@field size? integer|integer[] extents of the result: an integer, or a list with one for each axis

---@class optim.adam.options
---@field beta1? number decay of the mean of gradients (default: 0.9)
---@field beta2? number decay of the mean of their squares (default: 0.999)
---@field decay? number weight decay (default: 0)
---@field eps? number added to the root (default: 1e-08)
---@field lr? number learning rate (default: 0.001)

---@class optim.adamw.options
---@field beta1? number decay of the mean of gradients (default: 0.9)
---@field beta2? number decay of the mean of their squares (default: 0.999)
---@field decay? number weight decay (default: 0)
---@field eps? number added to the root (default: 1e-08)
---@field lr? number learning rate (default: 0.001)

---@class optim.constant.options
---@field cooldown? integer last steps, in which the rate falls to final_lr in a straight line (default: 0)
---@field final_lr? number rate at the end (default: 0)
---@field steps? integer where the schedule ends; 0: with the training (default: 0)
---@field warmup? integer steps over which the rate rises from 0 to lr (default: 0)

---@class optim.cosine.options
---@field final_lr? number rate at the end (default: 0)
---@field steps? integer where the schedule ends; 0: with the training (default: 0)
---@field warmup? integer steps over which the rate rises from 0 to lr (default: 0)

---@class optim.inverse_sqrt.options
---@field warmup? integer steps over which the rate rises from 0 to lr (default: 0)

---@class optim.linear.options
---@field final_lr? number rate at the end (default: 0)
---@field steps? integer where the schedule ends; 0: with the training (default: 0)
---@field warmup? integer steps over which the rate rises from 0 to lr (default: 0)

---@class optim.lion.options
---@field beta1? number decay of the mean in the step (default: 0.9)
---@field beta2? number decay of the stored mean (default: 0.99)
---@field decay? number weight decay, decoupled: three to ten times AdamW's (default: 0)
---@field lr? number learning rate: a third to a tenth of AdamW's (default: 0.0001)

---@class optim.one_cycle.options
---@field cycle_momentum? boolean momentum, or beta1, goes from high to low while the rate rises, and back (default: true)
---@field final_div? number the rate ends at lr / start_div / final_div (default: 10000.0)
---@field high_momentum? number momentum at both ends (default: 0.95)
---@field low_momentum? number momentum when the rate is highest (default: 0.85)
---@field start_div? number the rate starts at lr / start_div (default: 25)
---@field steps? integer where the schedule ends; 0: with the training (default: 0)
---@field warm_fraction? number share of the steps that lead up to lr (default: 0.3)
---@field warmup? integer steps up to lr; 0: by warm_fraction (default: 0)

---@class optim.sgd.options
---@field decay? number weight decay (default: 0)
---@field lr? number learning rate (default: 0.01)
---@field momentum? number decay of the velocity (default: 0)
---@field nesterov? boolean Nesterov's momentum (default: false)

---@class optim.step.options
---@field at? any[] a list of steps at which the rate is multiplied, instead of every
---@field every? integer steps after which the rate is multiplied, each time (default: 0)
---@field factor? number factor of the rate, each time (default: 0.1)
---@field warmup? integer steps over which the rate rises from 0 to lr (default: 0)

---@class nn
nn = {}
---@class optim
optim = {}
---@class data
data = {}
nn.init = {}

--- negation
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.neg(a) end

--- absolute value
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.abs(a) end

--- -1, 0 or 1
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.sign(a) end

--- e to the power a
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.exp(a) end

--- exp(a) - 1, exact near 0
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.expm1(a) end

--- natural logarithm
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.log(a) end

--- log(1 + a), exact near 0
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.log1p(a) end

--- square root
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.sqrt(a) end

--- 1 / sqrt(a)
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.rsqrt(a) end

--- sine, radians
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.sin(a) end

--- cosine, radians
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.cos(a) end

--- hyperbolic tangent
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.tanh(a) end

--- error function
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.erf(a) end

--- log(1 + exp(a)), a smooth relu
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.softplus(a) end

--- largest integer not above a
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.floor(a) end

--- sum
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.add(a, b) end

--- difference
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.sub(a, b) end

--- product
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.mul(a, b) end

--- quotient
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.div(a, b) end

--- larger of two; a tie is a's
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.max(a, b) end

--- smaller of two; a tie is a's
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.min(a, b) end

--- a to the power b, a > 0
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.pow(a, b) end

--- quotient rounded down
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.idiv(a, b) end

--- remainder, sign of b
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.mod(a, b) end

--- bits set in both
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.bitand(a, b) end

--- bits set in one of the two
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.bitxor(a, b) end

--- a below b
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.lt(a, b) end

--- a not above b
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.le(a, b) end

--- a equals b
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.eq(a, b) end

--- a differs from b
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.ne(a, b) end

--- a below b, both read as unsigned 32-bit integers
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.ult(a, b) end

--- not a
---@param a lathe.Tensor
---@return lathe.Tensor
function nn.lnot(a) end

--- a and b
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.land(a, b) end

--- a or b
---@param a lathe.Tensor
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.lor(a, b) end

--- sum over axes
---@param a lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.sum(a, axis, ...) end

--- largest over axes; the gradient goes to all tied elements, divided by their number
---@param a lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.rmax(a, axis, ...) end

--- smallest over axes; its gradient as rmax's
---@param a lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.rmin(a, axis, ...) end

--- bool: whether it holds, or is not 0, anywhere
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.any(x, axis, ...) end

--- bool: whether it holds, or is not 0, everywhere
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.all(x, axis, ...) end

--- product
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.prod(x, axis, ...) end

--- sum of (x - mean)^2 / (n - correction); correction: 1 (the default, as PyTorch's) or 0
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.var(x, axis, ...) end

--- square root of x:var
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.std(x, axis, ...) end

--- log of the sum of exp(x)
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.logsumexp(x, axis, ...) end

--- (sum of |x|^p)^(1/p); p: 2 (the default), any positive number, or math.huge: the largest |x|; its gradient at 0 is 0
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.norm(x, axis, ...) end

--- i32: first index of the smallest along an axis, which goes away, or of all elements
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.argmin(x, axis, ...) end

--- a where the bool tensor holds, else b
---@param x lathe.Tensor
---@param a lathe.Tensor|number
---@param b lathe.Tensor|number
---@return lathe.Tensor
function nn.where(x, a, b) end

--- another type; real to integer truncates, to bool: not 0
---@param x lathe.Tensor
---@param type "f32"|"i32"|"bool"
---@return lathe.Tensor
function nn.cast(x, type) end

--- the same values; no gradient flows through (detach of PyTorch)
---@param x lathe.Tensor
---@return lathe.Tensor
function nn.stop_gradient(x) end

--- mean over axes (all if none is named); {axis, keep = true} keeps them as 1
---@param x lathe.Tensor
---@param axis? integer|table
---@param ... integer
---@return lathe.Tensor
function nn.mean(x, axis, ...) end

--- the same elements in order, another shape; one extent may be -1
---@param x lathe.Tensor
---@param extents integer|integer[]
---@param ... integer
---@return lathe.Tensor
function nn.reshape(x, extents, ...) end

--- axes in another order: for each new axis the old one
---@param x lathe.Tensor
---@param axes integer|integer[]
---@param ... integer
---@return lathe.Tensor
function nn.permute(x, axes, ...) end

--- two axes exchanged
---@param x lathe.Tensor
---@param a integer
---@param b integer
---@return lathe.Tensor
function nn.transpose(x, a, b) end

--- a new axis of extent 1
---@param x lathe.Tensor
---@param axis integer
---@return lathe.Tensor
function nn.unsqueeze(x, axis) end

--- without that axis of extent 1
---@param x lathe.Tensor
---@param axis integer
---@return lathe.Tensor
function nn.squeeze(x, axis) end

--- axes of extent 1 repeated; -1 keeps an axis
---@param x lathe.Tensor
---@param extents integer[]
---@return lathe.Tensor
function nn.expand(x, extents) end

--- elements first … beyond - 1 of an axis; negative ones count from the end
---@param x lathe.Tensor
---@param axis integer
---@param first? integer
---@param beyond? integer
---@param step? integer
---@return lathe.Tensor
function nn.slice(x, axis, first, beyond, step) end

--- one element of an axis, which goes away
---@param x lathe.Tensor
---@param axis integer
---@param index integer
---@return lathe.Tensor
function nn.select(x, axis, index) end

--- n equal parts of an axis
---@param x lathe.Tensor
---@param n integer
---@param axis integer
---@return lathe.Tensor, ...
function nn.chunk(x, n, axis) end

--- an axis reversed
---@param x lathe.Tensor
---@param axis integer
---@return lathe.Tensor
function nn.flip(x, axis) end

--- zeros around
---@param x lathe.Tensor
---@param axis integer
---@param before integer
---@param after? integer
---@return lathe.Tensor
function nn.pad(x, axis, before, after) end

--- rows along an axis picked by ids; the first `shared` axes of both run together
---@param x lathe.Tensor
---@param ids lathe.Tensor
---@param axis? integer
---@param shared? integer
---@return lathe.Tensor
function nn.gather(x, ids, axis, shared) end

--- the entries at ids along an axis replaced
---@param x lathe.Tensor
---@param ids lathe.Tensor
---@param updates lathe.Tensor
---@param axis? integer
---@param shared? integer
---@return lathe.Tensor
function nn.overwrite(x, ids, updates, axis, shared) end

--- i32: first index of the largest along an axis, which goes away, or of all elements
---@param x lathe.Tensor
---@param axis? integer|table
---@return lathe.Tensor
function nn.argmax(x, axis) end

--- running sum along an axis
---@param x lathe.Tensor
---@param axis integer
---@param backwards? boolean
---@return lathe.Tensor
function nn.cumsum(x, axis, backwards) end

--- running product along an axis
---@param x lathe.Tensor
---@param axis integer
---@param backwards? boolean
---@return lathe.Tensor
function nn.cumprod(x, axis, backwards) end

--- i32: last index of the largest so far along an axis
---@param x lathe.Tensor
---@param axis integer
---@param backwards? boolean
---@return lathe.Tensor
function nn.cumargmax(x, axis, backwards) end

--- i32: the indices along an axis (the last) in the order of its elements; of equal ones the first comes first
---@param x lathe.Tensor
---@param axis? integer
---@param descending? boolean
---@return lathe.Tensor
function nn.argsort(x, axis, descending) end

--- the k largest in falling order, and their i32 indices
---@param x lathe.Tensor
---@param k integer
---@param axis? integer
---@return lathe.Tensor, lathe.Tensor
function nn.topk(x, k, axis) end

--- matrix product of the last two axes; b is one matrix, or has the same batch axes
---@param x lathe.Tensor
---@param b lathe.Tensor
---@return lathe.Tensor
function nn.matmul(x, b) end

--- one after another along an axis
---@param parts lathe.Tensor[]
---@param axis integer
---@return lathe.Tensor
function nn.concat(parts, axis) end

--- zeros of that extent along an axis with the updates added at ids
---@param updates lathe.Tensor
---@param ids lathe.Tensor
---@param extent integer
---@param axis? integer
---@param shared? integer
---@return lathe.Tensor
function nn.scatter_add(updates, ids, extent, axis, shared) end

--- sum of products over contract = {axis of a, axis of b} or {{…}, {…}}; result axes: batch, rest of a, rest of b
---@param a lathe.Tensor
---@param b lathe.Tensor
---@param axes { batch?: table, contract?: table }
---@return lathe.Tensor
function nn.dot(a, b, axes) end

--- zeros
---@param extents integer[]
---@return lathe.Tensor
function nn.zeros(extents) end

--- ones
---@param extents integer[]
---@return lathe.Tensor
function nn.ones(extents) end

--- one value everywhere
---@param extents integer[]
---@param value number
---@return lathe.Tensor
function nn.full(extents, value) end

--- numbers as a tensor of rank 1, or one of rank 0
---@param values number|number[]
---@param dtype? "f32"|"i32"
---@return lathe.Tensor
function nn.constant(values, dtype) end

--- i32: each element's index along an axis (the last)
---@param extents integer|integer[]
---@param axis? integer
---@return lathe.Tensor
function nn.iota(extents, axis) end

--- i32 random bits as a pure function of five integers
---@param seed lathe.Tensor
---@param step lathe.Tensor
---@param site lathe.Tensor|integer
---@param row lathe.Tensor
---@param index lathe.Tensor
---@return lathe.Tensor
function nn.philox(seed, step, site, row, index) end

--- the top 24 bits as a real in [0, 1)
---@param bits lathe.Tensor
---@return lathe.Tensor
function nn.u01(bits) end

--- whether a value is a tensor
---@param value any
---@return boolean
function nn.is_tensor(value) end

--- the last function of a C text, applied to tensors and numbers element by element; a struct returns several results
---@param text string
---@return fun(...: lathe.Tensor|number|boolean): lathe.Tensor, ...
function nn.cfunc(text) end

--- the mean of windows of [B, T, C], in so many windows that the result has the size asked for
---@param x lathe.Tensor
---@param given? nn.adaptive_avg_pool1d.options
---@return lathe.Tensor
---@overload fun(given: nn.adaptive_avg_pool1d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.adaptive_avg_pool1d(x, given) end

--- the mean of windows of [B, H, W, C], in so many windows that the result has the size asked for
---@param x lathe.Tensor
---@param given? nn.adaptive_avg_pool2d.options
---@return lathe.Tensor
---@overload fun(given: nn.adaptive_avg_pool2d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.adaptive_avg_pool2d(x, given) end

--- the mean of windows of [B, D, H, W, C], in so many windows that the result has the size asked for
---@param x lathe.Tensor
---@param given? nn.adaptive_avg_pool3d.options
---@return lathe.Tensor
---@overload fun(given: nn.adaptive_avg_pool3d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.adaptive_avg_pool3d(x, given) end

--- the largest element of windows of [B, T, C], in so many windows that the result has the size asked for
---@param x lathe.Tensor
---@param given? nn.adaptive_max_pool1d.options
---@return lathe.Tensor
---@overload fun(given: nn.adaptive_max_pool1d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.adaptive_max_pool1d(x, given) end

--- the largest element of windows of [B, H, W, C], in so many windows that the result has the size asked for
---@param x lathe.Tensor
---@param given? nn.adaptive_max_pool2d.options
---@return lathe.Tensor
---@overload fun(given: nn.adaptive_max_pool2d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.adaptive_max_pool2d(x, given) end

--- the largest element of windows of [B, D, H, W, C], in so many windows that the result has the size asked for
---@param x lathe.Tensor
---@param given? nn.adaptive_max_pool3d.options
---@return lathe.Tensor
---@overload fun(given: nn.adaptive_max_pool3d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.adaptive_max_pool3d(x, given) end

--- softmax(v · tanh(W_d · query + W_h · memory)) over the memory [B, S, M] -> its weighted sum, the probabilities (Bahdanau, Cho, Bengio 2015)
---@param x lathe.Tensor
---@param given? nn.additive_attention.options
---@return lathe.Tensor
---@overload fun(given: nn.additive_attention.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.additive_attention(x, given) end

--- softmax(q · k / sqrt(D)) · v for each head; of x [B, T, C] to itself, or to a memory [B, S, C]
---@param x lathe.Tensor
---@param given? nn.attention.options
---@return lathe.Tensor
---@overload fun(given: nn.attention.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.attention(x, given) end

--- the mean of each window of [B, T, C]
---@param x lathe.Tensor
---@param given? nn.avg_pool1d.options
---@return lathe.Tensor
---@overload fun(given: nn.avg_pool1d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.avg_pool1d(x, given) end

--- the mean of each window of [B, H, W, C]
---@param x lathe.Tensor
---@param given? nn.avg_pool2d.options
---@return lathe.Tensor
---@overload fun(given: nn.avg_pool2d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.avg_pool2d(x, given) end

--- the mean of each window of [B, D, H, W, C]
---@param x lathe.Tensor
---@param given? nn.avg_pool3d.options
---@return lathe.Tensor
---@overload fun(given: nn.avg_pool3d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.avg_pool3d(x, given) end

--- (x - mean) / sqrt(variance + eps) · weight + bias of each channel, the last axis, over all other axes; not in training: of the running mean and variance
---@param x lathe.Tensor
---@param given? nn.batchnorm.options
---@return lathe.Tensor
---@overload fun(given: nn.batchnorm.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.batchnorm(x, given) end

--- a convolution along time, [B, T, C] -> [B, T', out]; weight [out, C / groups, kernel] as in PyTorch
---@param x lathe.Tensor
---@param given? nn.conv1d.options
---@return lathe.Tensor
---@overload fun(given: nn.conv1d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.conv1d(x, given) end

--- a convolution of images, [B, H, W, C] -> [B, H', W', out]; weight as in PyTorch
---@param x lathe.Tensor
---@param given? nn.conv2d.options
---@return lathe.Tensor
---@overload fun(given: nn.conv2d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.conv2d(x, given) end

--- a convolution of volumes, [B, D, H, W, C] -> [B, D', H', W', out]; weight as in PyTorch
---@param x lathe.Tensor
---@param given? nn.conv3d.options
---@return lathe.Tensor
---@overload fun(given: nn.conv3d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.conv3d(x, given) end

--- nn.conv1d's transpose, [B, T, C] -> [B, T', out]; weight [C, out / groups, kernel] as in PyTorch
---@param x lathe.Tensor
---@param given? nn.conv_transpose1d.options
---@return lathe.Tensor
---@overload fun(given: nn.conv_transpose1d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.conv_transpose1d(x, given) end

--- nn.conv2d's transpose, [B, H, W, C] -> [B, H', W', out]; weight as in PyTorch
---@param x lathe.Tensor
---@param given? nn.conv_transpose2d.options
---@return lathe.Tensor
---@overload fun(given: nn.conv_transpose2d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.conv_transpose2d(x, given) end

--- nn.conv3d's transpose, [B, D, H, W, C] -> [B, D', H', W', out]; weight as in PyTorch
---@param x lathe.Tensor
---@param given? nn.conv_transpose3d.options
---@return lathe.Tensor
---@overload fun(given: nn.conv_transpose3d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.conv_transpose3d(x, given) end

--- rows of a table, by ids
---@param x lathe.Tensor
---@param given? nn.embedding.options
---@return lathe.Tensor
---@overload fun(given: nn.embedding.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.embedding(x, given) end

--- the rows of a table by ids [..., n], added up, averaged or their maximum: [..., width]
---@param x lathe.Tensor
---@param given? nn.embedding_bag.options
---@return lathe.Tensor
---@overload fun(given: nn.embedding_bag.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.embedding_bag(x, given) end

--- as nn.layernorm, over a group of channels and all axes between batch and channels
---@param x lathe.Tensor
---@param given? nn.groupnorm.options
---@return lathe.Tensor
---@overload fun(given: nn.groupnorm.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.groupnorm(x, given) end

--- GRU over time, [B, T, I] -> [B, T, H], last state [layers (* 2), B, H]; names and layout of PyTorch's
---@param x lathe.Tensor
---@param given? nn.gru.options
---@return lathe.Tensor
---@overload fun(given: nn.gru.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.gru(x, given) end

--- GRU of one step: x [..., I] (and further tensors beside it) and the layers' states -> h [..., H], states
---@param x lathe.Tensor
---@param given? nn.gru_step.options
---@return lathe.Tensor
---@overload fun(given: nn.gru_step.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.gru_step(x, given) end

--- as nn.layernorm, of each channel over all axes between batch and channels
---@param x lathe.Tensor
---@param given? nn.instancenorm.options
---@return lathe.Tensor
---@overload fun(given: nn.instancenorm.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.instancenorm(x, given) end

--- (x - mean) / sqrt(variance + eps) · weight + bias, over the last axis
---@param x lathe.Tensor
---@param given? nn.layernorm.options
---@return lathe.Tensor
---@overload fun(given: nn.layernorm.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.layernorm(x, given) end

--- y = x · weightᵀ + bias, over the last axis
---@param x lathe.Tensor
---@param given? nn.linear.options
---@return lathe.Tensor
---@overload fun(given: nn.linear.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.linear(x, given) end

--- x / (k + alpha · mean of squares of the channels around)^beta
---@param x lathe.Tensor
---@param given? nn.local_response_norm.options
---@return lathe.Tensor
---@overload fun(given: nn.local_response_norm.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.local_response_norm(x, given) end

--- LSTM over time, [B, T, I] -> [B, T, H], last state [layers (* 2), B, H]; names and layout of PyTorch's
---@param x lathe.Tensor
---@param given? nn.lstm.options
---@return lathe.Tensor
---@overload fun(given: nn.lstm.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.lstm(x, given) end

--- LSTM of one step: x [..., I] (and further tensors beside it) and the layers' states -> h [..., H], states
---@param x lathe.Tensor
---@param given? nn.lstm_step.options
---@return lathe.Tensor
---@overload fun(given: nn.lstm_step.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.lstm_step(x, given) end

--- the largest element of each window of [B, T, C]
---@param x lathe.Tensor
---@param given? nn.max_pool1d.options
---@return lathe.Tensor
---@overload fun(given: nn.max_pool1d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.max_pool1d(x, given) end

--- the largest element of each window of [B, H, W, C]
---@param x lathe.Tensor
---@param given? nn.max_pool2d.options
---@return lathe.Tensor
---@overload fun(given: nn.max_pool2d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.max_pool2d(x, given) end

--- the largest element of each window of [B, D, H, W, C]
---@param x lathe.Tensor
---@param given? nn.max_pool3d.options
---@return lathe.Tensor
---@overload fun(given: nn.max_pool3d.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.max_pool3d(x, given) end

--- linear, activation, linear
---@param x lathe.Tensor
---@param given? nn.mlp.options
---@return lathe.Tensor
---@overload fun(given: nn.mlp.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.mlp(x, given) end

--- the first T rows of a learned table [context, width], for x [B, T, …]; or those at given positions
---@param x lathe.Tensor
---@param given? nn.position_embedding.options
---@return lathe.Tensor
---@overload fun(given: nn.position_embedding.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.position_embedding(x, given) end

--- a learned number for each head and each bucket of distances from query to key (T5): a score_bias
---@param x lathe.Tensor
---@param given? nn.relative_bias.options
---@return lathe.Tensor
---@overload fun(given: nn.relative_bias.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.relative_bias(x, given) end

--- x / sqrt(mean of squares + eps) · weight, over the last axis
---@param x lathe.Tensor
---@param given? nn.rmsnorm.options
---@return lathe.Tensor
---@overload fun(given: nn.rmsnorm.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.rmsnorm(x, given) end

--- Elman's network over time, [B, T, I] -> [B, T, H], last state [layers (* 2), B, H]; names and layout of PyTorch's
---@param x lathe.Tensor
---@param given? nn.rnn.options
---@return lathe.Tensor
---@overload fun(given: nn.rnn.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.rnn(x, given) end

--- Elman's network of one step: x [..., I] (and further tensors beside it) and the layers' states -> h [..., H], states
---@param x lathe.Tensor
---@param given? nn.rnn_step.options
---@return lathe.Tensor
---@overload fun(given: nn.rnn_step.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.rnn_step(x, given) end

--- down(silu(gate(x)) · up(x))
---@param x lathe.Tensor
---@param given? nn.swiglu.options
---@return lathe.Tensor
---@overload fun(given: nn.swiglu.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.swiglu(x, given) end

--- x with more or fewer elements along the axes between batch and channels, as F.interpolate
---@param x lathe.Tensor
---@param given? nn.upsample.options
---@return lathe.Tensor
---@overload fun(given: nn.upsample.options): fun(x: lathe.Tensor, ...): lathe.Tensor
function nn.upsample(x, given) end

--- Drawn from a normal distribution; mean: 0 by default.
---@return lathe.Init
function nn.init.normal(sd, mean) end

--- Drawn uniformly from low … high.
---@return lathe.Init
function nn.init.uniform(low, high) end

--- A learned tensor.
---@param given? nn.param.options
---@return lathe.Tensor
function nn.param(given) end

--- Runs f inside a part of the layer path: its parameters are called name.…
---@return any
function nn.scope(name, f, ...) end

--- 1 / (1 + exp(-x)); tanh keeps value and derivative finite for every x.
---@return lathe.Tensor
function nn.sigmoid(x) end

--- max(x, 0); no gradient at 0
---@return lathe.Tensor
function nn.relu(x) end

--- x · sigmoid(x)
---@return lathe.Tensor
function nn.silu(x) end

--- kind: "erf" (exact, the default) or "tanh" (the approximation of GPT-2).
---@return lathe.Tensor
function nn.gelu(x, kind) end

--- exp(x) / Σ exp(x) along an axis, the last by default.
---@return lathe.Tensor
function nn.softmax(x, axis) end

--- log(softmax(x))
---@return lathe.Tensor
function nn.log_softmax(x, axis) end

--- -Σ p · log(p + eps) along an axis, the last by default, which is removed.
---@return lathe.Tensor
function nn.entropy(p, axis, eps) end

--- The mean of the elements of x where the bool `counts` is true, over all axes or those given; zero if none is.
---@return lathe.Tensor
function nn.masked_mean(x, counts, ...) end

--- The mean of x over all axes or those given, where an element counts as its weight says; zero if all weights are.
---@return lathe.Tensor
function nn.weighted_mean(x, weights, ...) end

--- In training drops each element with probability p and multiplies the others by 1 / (1 - p).
---@return lathe.Tensor
function nn.dropout(x, p) end

--- Whether the current entry trains.
---@return boolean
function nn.training() end

--- i32 bits shaped like x, different for each element, sample, step and call.  nn.u01 makes uniform numbers from them.
---@return lathe.Tensor
function nn.random_bits(x) end

--- Uniform in [low, high), [0, 1) by default: one of 2^24 equally spaced numbers.
---@return lathe.Tensor
function nn.uniform(x, low, high) end

--- Normal with mean 0 and standard deviation 1 (Box and Muller 1958).
---@return lathe.Tensor
function nn.normal(x) end

--- bool: true with probability p, a number or a tensor that fits x.
---@return lathe.Tensor
function nn.bernoulli(x, p) end

--- i32: 0 … n - 1; not quite uniform for n in the millions, since there are 2^24 uniform numbers.
---@return lathe.Tensor
function nn.integers(x, n) end

--- -log(-log(uniform)): logits + these, their argmax is a draw from softmax(logits) (Gumbel 1954).
---@return lathe.Tensor
function nn.gumbel(x) end

--- Mean over all ids that count of -log softmax(logits)[id].
---@param given? nn.cross_entropy.options
---@return lathe.Tensor
function nn.cross_entropy(logits, ids, given) end

--- Cross entropy of a linear layer, x · weightᵀ + bias for x [..., width], whose logits are never in memory as a whole.
--- Returns the mean (or with row_weight the weighted sum) over all ids, then each id's loss and predicted id, shaped like ids.
---@param given? nn.linear_cross_entropy.options
---@return lathe.Tensor
function nn.linear_cross_entropy(x, ids, given) end

--- The fraction of ids that count whose logit is the largest; or, given predicted ids, that are predicted.
---@param given? nn.accuracy.options
---@return lathe.Tensor
function nn.accuracy(logits, ids, given) end

---@return lathe.Tensor
function nn.cumsum(f, ...) end

--- The largest so far along an axis, and its i32 index, the last of equal ones; backwards: from the end.
---@return lathe.Tensor, lathe.Tensor
function nn.cummax(x, axis, backwards) end

--- The smallest so far along an axis, and its i32 index, the last of equal ones; backwards: from the end.
---@return lathe.Tensor, lathe.Tensor
function nn.cummin(x, axis, backwards) end

--- Sorted along an axis, the last by default, and the i32 indices; equal elements stay in their order, NaN counts as largest.
---@return lathe.Tensor, lathe.Tensor
function nn.sort(x, axis, descending) end

--- x limited to low … high; nil: no bound on that side.  Bounds are numbers or tensors; at a bound the gradient of x is 0.
---@return lathe.Tensor
function nn.clamp(x, low, high) end

--- x, and slope · x below 0 (0.01 by default)
---@return lathe.Tensor
function nn.leaky_relu(x, slope) end

--- x, and alpha · (exp(x) - 1) below 0; alpha: 1 by default
---@return lathe.Tensor
function nn.elu(x, alpha) end

--- elu with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)
---@return lathe.Tensor
function nn.selu(x) end

--- x between low and high, -1 and 1 by default; no gradient at the bounds
---@return lathe.Tensor
function nn.hardtanh(x, low, high) end

--- relu, up to 6
---@return lathe.Tensor
function nn.relu6(x) end

--- (x + 3) / 6 between 0 and 1
---@return lathe.Tensor
function nn.hardsigmoid(x) end

--- x · hardsigmoid(x)
---@return lathe.Tensor
function nn.hardswish(x) end

--- x / (1 + |x|)
---@return lathe.Tensor
function nn.softsign(x) end

--- log(sigmoid(x))
---@return lathe.Tensor
function nn.log_sigmoid(x) end

--- x · tanh(softplus(x))
---@return lathe.Tensor
function nn.mish(x) end

--- a · sigmoid(b) of the halves a, b of an axis, the last by default
---@return lathe.Tensor
function nn.glu(x, axis) end

---@param given? nn.one_hot.options
---@return lathe.Tensor
function nn.one_hot(ids, n, given) end

--- (x - target)²
---@param given? nn.mse.options
---@return lathe.Tensor
function nn.mse(x, target, given) end

--- |x - target|
---@param given? nn.l1.options
---@return lathe.Tensor
function nn.l1(x, target, given) end

--- d = x - target: ½ d² where |d| < delta, beyond delta · (|d| - ½ delta)
---@param given? nn.huber.options
---@return lathe.Tensor
function nn.huber(x, target, given) end

--- huber divided by its delta, here beta
---@param given? nn.smooth_l1.options
---@return lathe.Tensor
function nn.smooth_l1(x, target, given) end

--- Binary cross entropy of sigmoid(logits); targets are real, 0 … 1.  Finite for any logit.
---@param given? nn.bce_with_logits.options
---@return lathe.Tensor
function nn.bce_with_logits(logits, target, given) end

--- target · (log target - x) for x the logarithms of a distribution (nn.log_softmax), target a distribution
---@param given? nn.kl_div.options
---@return lathe.Tensor
function nn.kl_div(x, target, given) end

--- -x[id] for x [..., classes] the logarithms of distributions; "mean" is over the ids that count; the losses of others are 0
---@param given? nn.nll.options
---@return lathe.Tensor
function nn.nll(x, ids, given) end

--- bce_with_logits · (1 - p)^gamma · weight, p the probability of the target (Lin et al. 2017; torchvision's
--- sigmoid_focal_loss)
---@param given? nn.focal.options
---@return lathe.Tensor
function nn.focal(logits, target, given) end

--- Pinball loss, smallest where x is the quantile q of target: q · (target - x), above target (1 - q) · (x - target)
---@param given? nn.pinball.options
---@return lathe.Tensor
function nn.pinball(x, target, given) end

--- ½ (log var + (x - target)² / var): target is normal with mean x and variance var
---@param given? nn.gaussian_nll.options
---@return lathe.Tensor
function nn.gaussian_nll(x, target, var, given) end

--- exp(x) - target · x, or with log_input = false x - target · log(x + eps): target is a count of mean exp(x), or x
---@param given? nn.poisson_nll.options
---@return lathe.Tensor
function nn.poisson_nll(x, target, given) end

--- log(1 + exp(-target · x))
---@param given? nn.soft_margin.options
---@return lathe.Tensor
function nn.soft_margin(x, target, given) end

--- x for targets of 1, max(0, margin - x) for targets of -1
---@param given? nn.hinge_embedding.options
---@return lathe.Tensor
function nn.hinge_embedding(x, target, given) end

--- max(0, margin - target · (a - b)): a should be larger where target is 1, b where it is -1
---@param given? nn.margin_ranking.options
---@return lathe.Tensor
function nn.margin_ranking(a, b, target, given) end

--- x / max(norm of x, eps)
---@param given? nn.normalize.options
---@return lathe.Tensor
function nn.normalize(x, given) end

--- a · b / (max(|a|, eps) · max(|b|, eps))
---@param given? nn.cosine_similarity.options
---@return lathe.Tensor
function nn.cosine_similarity(a, b, given) end

--- Norm of a - b + eps along the last axis
---@param given? nn.pairwise_distance.options
---@return lathe.Tensor
function nn.pairwise_distance(a, b, given) end

--- max(0, margin + |anchor - positive| - |anchor - negative|) of vectors [..., width]
---@param given? nn.triplet_margin.options
---@return lathe.Tensor
function nn.triplet_margin(anchor, near, far, given) end

--- Of vectors [..., width] and targets [...]: 1 - cosine where target is 1, max(0, cosine - margin) where it is -1
---@param given? nn.cosine_embedding.options
---@return lathe.Tensor
function nn.cosine_embedding(a, b, target, given) end

--- Contrastive loss of pairs a[i], b[i] of vectors [pairs, width]: the cross entropy of each a choosing its b by
--- similarity, and each b its a (van den Oord et al. 2018, Radford et al. 2021)
---@param given? nn.info_nce.options
---@return lathe.Tensor
function nn.info_nce(a, b, given) end

--- -log of the probability that log_probs [batch, time, classes] (of nn.log_softmax) spell targets, i32 [batch, labels],
--- where repeated classes are read once, then blanks left out.  Lengths: i32 [batch], what of a row counts; nil: all.
---@param given? nn.ctc.options
---@return lathe.Tensor
function nn.ctc(log_probs, targets, input_lengths, target_lengths, given) end

--- Σ of products, as torch.einsum: nn.einsum("bqhd,bkhd->bhqk", q, k); letters are axes.  Those that the result
--- lacks are summed over, a letter twice in an operand takes its diagonal, '...' stands for any other axes.
---@return lathe.Tensor
function nn.einsum(spec, ...) end

--- i32 [T]: positions along the time axis of x.
---@return lathe.Tensor
function nn.positions(x, axis) end

--- Numbers x [...], such as nn.positions or a noise level, as cosines and sines of many rates: [..., width].
---@param given? nn.sinusoidal.options
---@return lathe.Tensor
function nn.sinusoidal(x, width, given) end

--- [T, D]: cosines, then sines, for nn.attend.
---@return lathe.Tensor
function nn.turns(at, dim, base) end

--- Rotary positions: rotates the two halves of each head [B, T, H, D] by an angle that grows with the position.
---@return lathe.Tensor
function nn.rotary(x, at, base) end

--- softmax(scale · q · k) · v for each head, as one operation: q [batch…, T, H, D], k [batch…, S, G, D], v [batch…, S, G, E]
--- ->  [batch…, T, H, E], log of the sum of exp [batch…, H, T], and if asked for the probabilities [batch…, H, T, S] before
--- and after dropout.  H / G queries share a key.  A query that sees no key gives zeros.
---@param given? nn.attend.options
---@return lathe.Tensor
function nn.attend(q, k, v, given) end

--- Attention with linear biases (Press, Smith, Lewis 2022): score_bias = nn.alibi(heads) subtracts from each score the slope of its
--- head times the distance between query and key.  It has no parameters.
---@return lathe.Tensor
function nn.alibi(heads) end

--- Applies a block n times, each with its own parameters: x = f(x, i).  Other results of f are returned stacked, [n, …].
---@param given? nn.stack.options
---@return any, ...
function nn.stack(n, x, f, given) end

--- n independent copies, each with its own parameters: computes f(i) for every i; results are stacked, [n, …].
---@param given? nn.map.options
---@return any, ...
function nn.map(n, f, given) end

--- Over time: h, y = f(x, h, t) for each slice x of xs; gives the last h and the ys, stacked along the same axis.
---@param given? nn.scan.options
---@return any, lathe.Tensor
function nn.scan(xs, h0, f, given) end

--- Calls f(...); the backward pass recomputes its values instead of saving them.
---@return any
function nn.checkpoint(f, ...) end

--- One step: gates [..., 4H] in the order i, f, g, o; c [..., H]  ->  h, c.
---@return lathe.Tensor
function nn.lstm_cell(gates, c) end

--- x [batch, time, …] delayed by `steps`: y[t] = x[t - steps], zeros before the first.
---@return lathe.Tensor
function nn.shift(x, steps) end

--- AdamW: decoupled weight decay (lr · decay · w), applied to the parameters whose decay flag is set.
---@param given? optim.adamw.options
---@return table
function optim.adamw(given) end

--- Adam with coupled decay, L2: decay · w is added to the gradient.
---@param given? optim.adam.options
---@return table
function optim.adam(given) end

--- Lion: the sign of a mean of gradients (Chen et al. 2023), half the memory of AdamW.
---@param given? optim.lion.options
---@return table
function optim.lion(given) end

--- SGD with optional momentum and decoupled weight decay.
---@param given? optim.sgd.options
---@return table
function optim.sgd(given) end

--- lr, between warm-up and cool-down.
---@param given? optim.constant.options
---@return table
function optim.constant(given) end

--- From lr straight down to final_lr at the last step.
---@param given? optim.linear.options
---@return table
function optim.linear(given) end

--- From lr down to final_lr along half a cosine.
---@param given? optim.cosine.options
---@return table
function optim.cosine(given) end

--- Up to lr and down again along half cosines, momentum the other way (Smith, Topin 2018; torch's OneCycleLR).
---@param given? optim.one_cycle.options
---@return table
function optim.one_cycle(given) end

--- lr · factor^k: k grows by one after every N steps, or at given steps.
---@param given? optim.step.options
---@return table
function optim.step(given) end

--- lr after the warm-up, then falling as 1 / √step (Vaswani et al. 2017).
---@param given? optim.inverse_sqrt.options
---@return table
function optim.inverse_sqrt(given) end

--- A text file as token ids: input.tokens and input.targets, both i32 [batch, seq].
--- config has batch, seq and vocab (256 for bytes; for chars at least the number of different characters).
--- With pack = true also input.segments, for nn.attention, and input.positions, both i32 [batch, seq]: several documents
--- share a sequence, and losses ignore targets of -1.
---@param given? data.text.options
---@return table
function data.text(given) end

--- Pairs of source and target for an encoder and a decoder: input.source, i32 [batch, source_seq], input.source_lengths,
--- i32 [batch], input.tokens (bos and the target), input.targets (the target and eos, then -1), both i32 [batch, seq],
--- and input.lengths, i32 [batch], of both.  Losses ignore targets of -1.
--- config has batch, source_seq, seq and vocab.
---@param given? data.pairs.options
---@return table
function data.pairs(given) end

--- A CSV file with a header: input.features, f32 [batch, features], and input.targets, class ids i32 [batch].
--- config has batch and features.
---@param given? data.csv.options
---@return table
function data.csv(given) end

--- A table of mixed columns, CSV or JSON lines: input.numbers, f32 [batch, numbers], scaled; input.categories, ids below c.levels, i32
--- [batch, categories]; input.targets: class ids i32 [batch], or with c.classes == 0 numbers, f32 [batch], scaled,
--- or [batch, targets] if there are several.  With weight also input.weight, f32 [batch].
--- config has batch, and numbers, categories, levels, classes, targets (if there are several), which `lathe train --data
--- FILE` takes from the file.
---@param given? data.table.options
---@return table
function data.table(given) end

--- Arrays: rows of the inputs that the description declares, `inputs = { image = { "f32", 28, 28, 1 }, … }`.  With
--- pictures = "image" rows of that input, uint8, vary in training as pictures in files do.
--- config has batch.
---@param given? data.arrays.options
---@return table
function data.arrays(given) end

--- Pictures, JPEG or PNG: folders with a folder for each class, tar archives, CSV files of paths and labels.  The
--- description declares both, `inputs = { image = { "f32", H, W, 3 }, label = { "i32", below = N, target = true } }`, with
--- 3 channels or 1, grey.  Pictures are resized and cropped to H x W; pixels are 0 … 255.  Of mixup and cutmix a loss
--- also reads input.label_other, i32 [batch], and input.label_share, f32 [batch].
--- config has batch.
---@param given? data.images.options
---@return table
function data.images(given) end

--- Time series of tables, a series a file or by a column, or arrays [time, columns] or [series, time, columns]: windows of
--- rows.  The description declares inputs of these names, all f32, with sizes of its own:
---   past            [past, channels]: the rows before the forecast: the targets, then columns known of the past alone
---   future          [ahead, targets], target = true: the rows to forecast
---   known           [past + ahead, known]: columns known ahead, of both
---   past_observed, future_observed: as past and future: 1 where a value is in the data, 0 where it was filled in
--- Each column is scaled to mean 0 and deviation 1 in the training part; an output prediction is scaled back.
--- config has batch, and channels, targets, known, which `lathe train --data FILE` takes from the file, as far as it names
--- them.
---@param given? data.series.options
---@return table
function data.series(given) end
