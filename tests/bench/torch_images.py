"""torch_images.py: convnet and vit in PyTorch, as a competent user writes them; torch_step.py runs them.

Parameters have the names that Lathe gives them.  m has the configuration.  Images come as [batch, height, width, channels];
seen with channels first they are in PyTorch's channels_last format, and so are the weights of convolutions.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_diffusion import Attention, FeedForward


class ResidualBlock(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.stride, self.more = stride, out - width

    def forward(self, x):
        h = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1:
            x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more))
        return F.relu(h + x)


class ConvNet(nn.Module):
    def __init__(self, m):
        super().__init__()
        width, alike = m["width"], m["blocks"]
        self.scale = m["scale"]
        self.conv = nn.Conv2d(m["channels"], width, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.whole = nn.Sequential(*(ResidualBlock(width, width, 1) for _ in range(alike)))
        self.to_half = ResidualBlock(width, 2 * width, 2)
        self.half = nn.Sequential(*(ResidualBlock(2 * width, 2 * width, 1) for _ in range(alike - 1)))
        self.to_quarter = ResidualBlock(2 * width, 4 * width, 2)
        self.quarter = nn.Sequential(*(ResidualBlock(4 * width, 4 * width, 1) for _ in range(alike - 1)))
        self.head = nn.Linear(4 * width, m["classes"])
        self.to(memory_format=torch.channels_last)

    def forward(self, image, label):
        x = F.relu(self.bn(self.conv(image.permute(0, 3, 1, 2) / self.scale)))
        half = self._modules["half"]  # Module.half is a method
        x = self.quarter(self.to_quarter(half(self.to_half(self.whole(x)))))
        return F.cross_entropy(self.head(x.mean((2, 3))), label)


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(m["width"]), nn.LayerNorm(m["width"])
        self.attn, self.mlp = Attention(m, bias=True), FeedForward(m, bias=True)
        self.drop = nn.Dropout(m["dropout"])

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class ViT(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.scale, self.patch, places = m["scale"], m["patch"], (m["side"] // m["patch"]) ** 2
        self.patches = nn.Linear(m["patch"] ** 2 * m["channels"], m["width"])
        self.class_token = nn.Parameter(torch.zeros(1, 1, m["width"]))
        self.positions = nn.Parameter(torch.zeros(places + 1, m["width"]))
        self.drop = nn.Dropout(m["dropout"])
        self.layers = nn.Sequential(*(Block(m) for _ in range(m["layers"])))
        self.ln_f = nn.LayerNorm(m["width"])
        self.head = nn.Linear(m["width"], m["classes"])

    def forward(self, image, label):
        B, H, W, C = image.shape
        p = self.patch
        x = (image / self.scale).reshape(B, H // p, p, W // p, p, C).permute(0, 1, 3, 2, 4, 5)
        x = self.patches(x.reshape(B, -1, p * p * C))
        x = torch.cat((self.class_token.expand(B, -1, -1), x), 1) + self.positions
        return F.cross_entropy(self.head(self.ln_f(self.layers(self.drop(x))[:, 0])), label)
