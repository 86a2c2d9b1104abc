/* pytorch.c: what PyTorch's names are called here, for messages about names that are not known.
 *
 * Capitals, underscores and a final "Loss" do not count, so that MaxPool2d, max_pool2d and F.mse_loss find their own;
 * the table has what is called otherwise, and how the common layers are called. */
#include "front/front.h"

#include <string.h>

static const struct Other {
    const char *theirs, *here;
} others[] = {
    {"linear", "nn.linear(x, { out = N })"},
    {"conv1d", "nn.conv1d(x, { out = N, kernel = K }), of x [B, T, C]"},
    {"conv2d", "nn.conv2d(x, { out = N, kernel = K }), of x [B, H, W, C]"},
    {"conv3d", "nn.conv3d(x, { out = N, kernel = K }), of x [B, D, H, W, C]"},
    {"convtranspose1d", "nn.conv_transpose1d(x, { out = N, kernel = K }), of x [B, T, C]"},
    {"convtranspose2d", "nn.conv_transpose2d(x, { out = N, kernel = K }), of x [B, H, W, C]"},
    {"convtranspose3d", "nn.conv_transpose3d(x, { out = N, kernel = K }), of x [B, D, H, W, C]"},
    {"maxpool1d", "nn.max_pool1d(x, { kernel = K }), of x [B, T, C]"},
    {"maxpool2d", "nn.max_pool2d(x, { kernel = K }), of x [B, H, W, C]"},
    {"maxpool3d", "nn.max_pool3d(x, { kernel = K }), of x [B, D, H, W, C]"},
    {"avgpool1d", "nn.avg_pool1d(x, { kernel = K }), of x [B, T, C]"},
    {"avgpool2d", "nn.avg_pool2d(x, { kernel = K }), of x [B, H, W, C]"},
    {"avgpool3d", "nn.avg_pool3d(x, { kernel = K }), of x [B, D, H, W, C]"},
    {"batchnorm1d", "nn.batchnorm(x), for any number of axes"},
    {"batchnorm2d", "nn.batchnorm(x), for any number of axes"},
    {"batchnorm3d", "nn.batchnorm(x), for any number of axes"},
    {"instancenorm1d", "nn.instancenorm(x), for any number of axes"},
    {"instancenorm2d", "nn.instancenorm(x), for any number of axes"},
    {"instancenorm3d", "nn.instancenorm(x), for any number of axes"},
    {"groupnorm", "nn.groupnorm(x, { groups = N })"},
    {"embedding", "nn.embedding(ids, { rows = N, width = W })"},
    {"multiheadattention", "nn.attention(x, { heads = N })"},
    {"scaleddotproductattention", "nn.attend(q, k, v, { … }), of q [B, T, H, D]"},
    {"lstm", "nn.lstm(x, { hidden = N })"},
    {"gru", "nn.gru(x, { hidden = N })"},
    {"rnn", "nn.rnn(x, { hidden = N })"},
    {"interpolate", "nn.upsample(x, { scale = N })"},
    {"flatten", "x:reshape { x:size(0), -1 }"},
    {"view", "x:reshape { … }"},
    {"sequential", "one call after another: x = nn.relu(nn.linear(x, { … }))"},
    {"modulelist", "nn.stack(n, x, f), or a `for` of Lua"},
    {"module", "a function of tensors"},
    {"parameter", "nn.param { name = \"…\", shape = { … } }"},
    {"identity", "x itself"},
    {"bce", "nn.bce_with_logits(logits, target), of logits without a sigmoid"},
    {"binarycrossentropy", "nn.bce_with_logits(logits, target), of logits without a sigmoid"},
    {"binarycrossentropywithlogits", "nn.bce_with_logits(logits, target)"},
    {"cat", "nn.concat({ a, b }, axis)"},
    {"arange", "nn.iota(n)"},
    {"tensor", "nn.constant"},
    {"bmm", "a:matmul(b)"},
    {"mm", "a:matmul(b)"},
    {"maximum", "nn.max(a, b)"},
    {"minimum", "nn.min(a, b)"},
    {"detach", "nn.stop_gradient(x)"},
    {"maskedfill", "nn.where(mask, value, x)"},
    {"repeat", "x:expand { … }"},
    {"randn", "nn.normal(x), of the shape of x"},
    {"rand", "nn.uniform(x, 0, 1), of the shape of x"},
    {"float", "x:cast(\"f32\")"},
    {"long", "x:cast(\"i32\")"},
    {"int", "x:cast(\"i32\")"},
    {"contiguous", "x itself: there is nothing to write"},
    {"to", "x itself: --target and --precision say where and how it runs"},
    {"cuda", "x itself: --target says where it runs"},
    {"cpu", "x itself: --target says where it runs"},
    {"backward", "nothing to write: gradients follow from the loss that forward returns"},
};

/* "maxpool2d" of "MaxPool2d" and "max_pool2d", "mse" of "MSELoss" and "mse_loss". */
static const char *letters_of_name(const char *name)
{
    Text t = {0};
    for (; *name; name++)
        if (*name != '_') say(&t, "%c", *name >= 'A' && *name <= 'Z' ? *name + 32 : *name);
    size_t n = t.at ? strlen(t.at) : 0;
    return n > 4 && same(t.at + n - 4, "loss") ? copy_bytes_as_string(t.at, n - 4) : n ? t.at : "";
}

const char *known_as(const char *name, const char *const *known, int n)
{
    const char *plain = letters_of_name(name);
    for (int i = 0; i < COUNT_OF(others); i++)
        if (same(others[i].theirs, plain)) return format("; here it is %s", others[i].here);
    for (int i = 0; i < n; i++)
        if (same(letters_of_name(known[i]), plain)) return format("; here it is nn.%s", known[i]);
    return NULL;
}
