/* test_emitted_inputs.c: test_emitted.c for models that declare their inputs. */
#include "harness_cuda.h"

static const char *const models[] = {
    "models/tabular.lua --set numbers=7 --set categories=3 --set levels=19 --set classes=3 --set embed=5 --set width=20"
    " --set layers=2 --set batch=9",
    "models/tabular.lua --set numbers=7 --set categories=0 --set width=20 --set layers=1 --set batch=9 --set "
    "dropout=0.0 --precision bf16",
    "models/vit.lua --set layers=2 --set width=20 --set heads=2 --set side=6 --set batch=3",
    "tests/models/images.lua",
    "tests/models/images.lua --set batch=2 --set channels=4 --precision bf16",
    "models/convnet.lua --set width=4 --set blocks=2 --set side=5 --set batch=3",
    "models/vae.lua --set side=3 --set channels=2 --set latent=5 --set hidden=37 --set batch=6",
    "models/vae.lua --set side=4 --set latent=3 --set hidden=20 --set batch=4 --set pixels=gaussian --precision bf16",
    "models/unet.lua --set side=8 --set channels=2 --set width=3 --set depth=2 --set batch=2",
    "models/twotower.lua --set length=7 --set embed=3 --set hidden=10 --set width=6 --set batch=5",
    "models/gnn.lua --set nodes=7 --set edges=11 --set width=6 --set rounds=3 --set batch=3",
    /* Lengths are drawn as 0 or 1 here: of many rows some can be spelled. */
    "models/speech.lua --set frames=13 --set n_mels=5 --set letters=4 --set vocab=6 --set width=8 --set batch=37",
    "models/speech.lua --config classes --set frames=9 --set n_mels=5 --set classes=3 --set width=8 --set layers=1"
    " --set batch=3",
    "models/gan.lua --set width=3 --set noise=5 --set batch=3",
    "tests/models/turns.lua --set normal=true --set drawn=true --set batch=4 --set accumulate=2",
    "models/forecast.lua --set past=20 --set ahead=3 --set channels=2 --set patch=8 --set patch_stride=4 --set width=12"
    " --set hidden=10 --set layers=2 --set batch=3",
    "tests/models/directed.lua",
    "tests/models/directed.lua --set kind=adafactor",
    "tests/models/directed.lua --set kind=lamb --precision bf16",
    "tests/lua/batchnorm.lua --set accumulate=2",
    "tests/lua/batchnorm.lua --precision bf16",
};

int main(int argc, char **argv)
{
    compare_models(models, COUNT_OF(models), argc > 1 ? argv[1] : "", NULL, 0);
    return finish();
}
