# pytorch.sh: names of PyTorch's are refused with what they are called here, which exists; an image that was not flattened,
# and zeros around all of it, are told what to write.
set -eu
failed=0
says() { # EXPRESSION WORDS
    printf '%s\n' "return { config = { side = 8, classes = 3, batch = 4 }," \
        'inputs = { image = { "f32", "side", "side", 1 }, label = { "i32", below = "classes", target = true } },' \
        "forward = function(c, input) local x = $1" 'return nn.cross_entropy(x, input.label), { logits = x } end,' \
        'train = { steps = 5 }, data = data.arrays { val_fraction = 0.1 } }' >"$TMP/named.lua"
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
says 'F.relu(input.image)' "unknown name 'F'; what PyTorch has there is in nn"
says 'nn.pad(input.image, 1)' 'x:pad takes an axis, and the zeros before and after along it; around an image [B, H, W, C]: x:pad(1, n, n):pad(2, n, n)'
says 'input.image:pad({ 1, 1, 1, 1 })' 'x:pad takes an axis'
says 'nn.linear(input.image, { out = c.classes })' 'x:reshape { x:size(0), -1 }, or take means, x:mean(1, …)'
"$LATHE" stubs "$TMP" >"$TMP/said"
for name in $(grep -o 'nn\.[a-z][a-z_0-9]*' compiler/front/pytorch.c | sort -u); do
    grep -q "^function $name(" "$TMP/lathe.lua" || { echo "FAILED: there is no $name"; failed=1; }
done
exit $failed
