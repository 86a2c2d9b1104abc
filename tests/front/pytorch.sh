# pytorch.sh: names of PyTorch's and syntax of Python's are refused with what they are called here, which exists; an image
# that was not flattened, and zeros around all of it, are told what to write.
set -eu
failed=0
says() { # EXPRESSION WORDS [SETTING]
    printf '%s\n' "return { config = { side = 8, classes = 3, batch = 4 }," \
        'inputs = { image = { "f32", "side", "side", 1 }, label = { "i32", below = "classes", target = true } },' \
        "forward = function(c, input) local x = $1" 'return nn.cross_entropy(x, input.label), { logits = x } end,' \
        "train = { steps = 5, ${3:-} }, "'data = data.arrays { val_fraction = 0.1 } }' >"$TMP/named.lua"
    "$LATHE" check "$TMP/named.lua" >"$TMP/said" 2>&1 && { echo "FAILED: was taken: $1"; failed=1; }
    grep -qF -- "$2" "$TMP/said" || { echo "FAILED: $1 is not told $2:"; cat "$TMP/said"; failed=1; }
}
says 'nn.flatten(input.image, 1)' 'there is no nn.flatten; here it is x:reshape { x:size(0), -1 }'
says 'input.image:flatten(1)' "a tensor has no 'flatten'; here it is x:reshape { x:size(0), -1 }"
says 'nn.mse_loss(input.image, input.image)' 'there is no nn.mse_loss; here it is nn.mse'
says 'nn.BCEWithLogitsLoss()' 'here it is nn.bce_with_logits'
says 'nn.MaxPool2d(2)' 'there is no nn.MaxPool2d; here it is nn.max_pool2d(x, { kernel = K }), of x [B, H, W, C]'
says 'nn.ConvTranspose2d(1, 8, 3)' 'here it is nn.conv_transpose2d(x, { out = N, kernel = K }), of x [B, H, W, C]'
says 'nn.BatchNorm2d(8)' 'there is no nn.BatchNorm2d; here it is nn.batchnorm(x), for any number of axes'
says 'nn.Linear(3, 4)' 'there is no nn.Linear; here it is nn.linear(x, { out = N })'
says 'nn.AdaptiveAvgPool2d(1)' 'here it is nn.adaptive_avg_pool2d'
says 'nn.attnd(1)' 'there is no nn.attnd; did you mean nn.attend?'
says 'F.relu(input.image)' 'there is no F.relu; here it is nn.relu'
says 'F.fancy(input.image)' "unknown name 'F'; what PyTorch has there is in nn"
says 'torch.autograd.grad(input.image)' 'there is no torch.autograd.grad; gradients follow from the loss that forward returns'
says 'nn.spectral_norm(input.image)' 'there is no nn.spectral_norm; it can be written: divide a weight'
says 'nn.Sequential()' 'here it is one call after another'
says 'nn.Module()' 'here it is a function of tensors'
says 'input.image:item()' "a tensor has no 'item'; forward is traced before values exist"
says 'input.image.shape[0]' 'x.shape[0]: a list of Lua begins with [1]; the extent of axis 0 is x:size(0)'
says 'input.image.shape[1] print(input.image.shape)' '{ 4, 8, 8, 1 }'
says 'input.image:size()' 'x:size needs an axis: x:size(0) is the first; x.shape is a list of all'
says 'nn.relu()(input.image)' 'nn.relu needs its tensor at once: nn.relu(x)'
says 'nn.sqrt()(input.image)' 'nn.sqrt needs its tensor at once: nn.sqrt(x)'
says 'nn.dropout(0.5)(input.image)' 'nn.dropout needs its tensor at once: nn.dropout(x, …)'
says 'nn.linear(784, 10)(input.image)' 'nn.linear: its options must be a table, nn.linear(x, { out = 10 }), found 10; the width of x is known'
says 'nn.conv2d(3, 8, 3)(input.image)' 'nn.conv2d(x, { kernel = N, out = N }), found 3'
says 'nn.conv2d(input.image, { out_channels = 3 })' "nn.conv2d has no option 'out_channels'; here it is 'out'"
says 'nn.conv2d(input.image, { in_channels = 3 })' "'in_channels'; leave it out: the width of the input is known"
says 'nn.conv2d(input.image, { kernel_size = 3 })' "'kernel_size'; here it is 'kernel'"
# and recipes
says 'input.image' "train has no 'lr'; it belongs to the optimizer" 'lr = 1e-3'
says 'input.image' "train has no 'epochs'; the recipe has \`steps\`" 'epochs = 3'
says 'input.image' "optim.adam has no option 'weight_decay'; here it is 'decay'" 'optimizer = optim.adam { weight_decay = 1 }'
says 'input.image' 'must be a table { lr = 0.001 }, found 0.001' 'optimizer = optim.adam(1e-3)'
says 'input.image' 'there is no optim.CosineAnnealingLR; here it is optim.cosine' 'schedule = optim.CosineAnnealingLR {}'
# Python
says 'None' "unknown name 'None'; in Lua it is nil"
says 'len(input.image)' "unknown name 'len'; in Lua it is #list, and x:size(axis) of a tensor"
says '[1, 2]' 'a list is { 1, 2, 3 }'
says '{"a": 3}' 'a table is { a = 1, b = 2 }'
says 'input.image[:, 0]' 'a part of a tensor is x:slice(axis, first, beyond) or x:select(axis, i)'
says 'nn.linear(input.image, out=3)' 'arguments have no names: options are a table, f(x, { out = 10 })'
says 'input.image # a picture' 'a comment begins with --'
says '3 x += 1' 'write x = x + 1'
says '3 if x != 3 then end' '"not equal" is ~='
says '3 y = x is None' 'write x == nil'
says '2 ** 3' 'a power is x ^ 2'
says '1 if c.side else 2' 'write `condition and a or b`'
says 'lambda y: y' 'a function without a name is `function(x) return … end` (line 3)'
says "3
def f(x):" 'a function is `local function f(x) … end`'
says "3
import torch" 'nothing is imported'
says "3
class Net(nn.Module):" 'there are no classes'
says "3
if x == 3:" 'write `if … then … end`'
says "3
for i in range(3):" 'in Lua, write `for i = 0, n - 1 do … end`'
# Lua's own mistakes get no hint of Python's.
says '3 from = x]' "near ']'"
grep -q 'in Lua' "$TMP/said" && { echo "FAILED: a hint of Python's for Lua:"; cat "$TMP/said"; failed=1; }
says 'nn.pad(input.image, 1)' 'x:pad takes an axis, and the zeros before and after along it; around an image [B, H, W, C]: x:pad(1, n, n):pad(2, n, n)'
says 'input.image:pad({ 1, 1, 1, 1 })' 'x:pad takes an axis'
says 'nn.linear(input.image, { out = c.classes })' 'x:reshape { x:size(0), -1 }, or take means, x:mean(1, …)'
# A picture whose channels come first is taken, with a warning; one that has them last, or was turned, without.
warns() { # EXPRESSION SHAPE COUNT
    printf '%s\n' "return { config = { batch = 4 }, inputs = { image = { \"f32\", $2 }, label = { \"i32\", below = 3, target = true } }," \
        "forward = function(c, input) local x = nn.conv2d($1, { out = 3, kernel = 3, padding = 1 })" \
        'return nn.cross_entropy(x:mean { 1, 2 }, input.label) end,' \
        'train = { steps = 5 }, data = data.arrays { val_fraction = 0.1 } }' >"$TMP/channels.lua"
    "$LATHE" check "$TMP/channels.lua" >"$TMP/said" 2>&1 || { echo "FAILED: was refused: $1"; cat "$TMP/said"; failed=1; }
    [ "$(grep -cF 'channels are the last axis; if they are axis 1, as in PyTorch, write x:permute(0, 2, 3, 1)' "$TMP/said")" = "$3" ] ||
        { echo "FAILED: $1 of $2: not $3 warnings"; cat "$TMP/said"; failed=1; }
}
warns 'input.image / 255' '3, 32, 32' 1
warns 'input.image:permute(0, 2, 3, 1)' '3, 32, 32' 0
warns 'input.image' '32, 32, 3' 0
warns 'input.image' '3, 32, 16' 0
"$LATHE" stubs "$TMP" >"$TMP/said"
for name in $(grep -o 'nn\.[a-z][a-z_0-9]*' compiler/front/pytorch.c | sort -u); do
    grep -q "^function $name(" "$TMP/lathe.lua" || { echo "FAILED: there is no $name"; failed=1; }
done
exit $failed
