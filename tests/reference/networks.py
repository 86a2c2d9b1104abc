"""networks.py: vae, unet, twotower, gnn, tabular and speech in PyTorch, written from their papers; train_models.py, train_table.py
and train_speech.py train them.

Parameters have the names that Lathe gives them.  m has the configuration.  forward(**inputs) is the loss; outputs(**inputs)
has what `trainer predict` writes; images come as [batch, height, width, channels].  For record.py: draw(r, rows) are the inputs
of as many rows, loss(batch, step) the loss, and logits if there are any.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from systems import uniform


class Perceptron(nn.Module):
    def __init__(self, width, hidden, out, *names):
        super().__init__()
        self.hidden, self.names = nn.Linear(width, hidden), names
        for name in names:
            self.add_module(name, nn.Linear(hidden, out))

    def forward(self, x):
        h = torch.tanh(self.hidden(x))
        return tuple(getattr(self, name)(h) for name in self.names)


class VAE(nn.Module):
    def __init__(self, m):
        super().__init__()
        pixels = m["side"] ** 2 * m["channels"]
        self.m, self.bernoulli = m, m["pixels"] == "bernoulli"
        self.encoder = Perceptron(pixels, m["hidden"], m["latent"], "mean", "log_var")
        self.decoder = Perceptron(m["latent"], m["hidden"], pixels, *(["logits"] if self.bernoulli else ["mean", "log_var"]))

    def draw(self, r, rows):
        shape = (rows, self.m["side"], self.m["side"], self.m["channels"])
        return {"image": torch.randint(0, int(self.m["scale"]) + 1, shape, generator=r)}

    def loss(self, batch, step):
        """With Lathe's noise of that step: Box and Muller's of two uniform numbers."""
        a, b = (uniform(self.m["seed"], step, site, len(batch["image"]), self.m["latent"]) for site in (0, 1))
        return self(batch["image"], (-2 * (a + 2**-25).log()).sqrt() * (2 * torch.pi * b).cos()), None

    def forward(self, image, noise=None):
        x = image.flatten(1) / self.m["scale"]
        mean, log_var = self.encoder(x)
        made = self.decoder(mean + (0.5 * log_var).exp() * (torch.randn_like(mean) if noise is None else noise))
        rate = 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum(1)
        if self.bernoulli:
            missed = F.binary_cross_entropy_with_logits(made[0], x, reduction="none")
        else:
            missed = F.gaussian_nll_loss(made[0], x, made[1].exp(), full=True, eps=self.m["least_var"], reduction="none")
        return (rate + missed.sum(1)).mean()

    def outputs(self, image):
        mean = self.encoder(image.flatten(1) / self.m["scale"])[0]
        value = self.decoder(mean)[0]
        return {"embedding": mean, "reconstruction": (value.sigmoid() if self.bernoulli else value).view_as(image)}


class Twice(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, out, 3, padding="same", bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, padding="same", bias=False), nn.BatchNorm2d(out)
        for conv in (self.conv1, self.conv2):
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


SIDES = ("whole", "half", "quarter", "eighth", "sixteenth", "thirty_second")


class UNet(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m, width = m, m["channels"]
        for k in range(m["depth"] + 1):
            out = m["width"] << k
            self.add_module(f"down_{SIDES[k]}", Twice(width, out))
            width = out
        for k in range(m["depth"]):
            out = m["width"] << k
            self.add_module(f"up_{SIDES[k]}", nn.ConvTranspose2d(2 * out, out, 2, 2))
            self.add_module(f"join_{SIDES[k]}", Twice(2 * out, out))
        self.head = nn.Conv2d(m["width"], m["classes"] or m["channels"], 1)

    def level(self, x, k):
        x = getattr(self, f"down_{SIDES[k]}")(x)
        if k == self.m["depth"]:
            return F.dropout(x, self.m["dropout"], self.training)
        up = getattr(self, f"up_{SIDES[k]}")(self.level(F.max_pool2d(x, 2), k + 1))
        return getattr(self, f"join_{SIDES[k]}")(torch.cat((x, up), 1))

    def last(self, image):
        return self.head(self.level(image.permute(0, 3, 1, 2) / self.m["scale"], 0)).permute(0, 2, 3, 1)

    def forward(self, image, map):
        last, scale = self.last(image), self.m["scale"]
        if not self.m["classes"]:
            return F.mse_loss(image / scale + last, map / scale)
        return F.cross_entropy(last.flatten(0, 2), map.flatten())

    def outputs(self, image):
        last = self.last(image)
        return {"logits": last} if self.m["classes"] else {"image": image + self.m["scale"] * last}


class Tower(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.letters = nn.EmbeddingBag(32**3, m["embed"], mode="mean", padding_idx=0)
        self.first, self.second = nn.Linear(m["embed"], m["hidden"]), nn.Linear(m["hidden"], m["hidden"])
        self.out, self.p = nn.Linear(m["hidden"], m["width"]), m["dropout"]
        nn.init.normal_(self.letters.weight, 0, 0.02)
        with torch.no_grad():
            self.letters.weight[0] = 0

    def forward(self, text):
        letter = text % 32
        x = self.letters((letter[:, :-2] * 32 + letter[:, 1:-1]) * 32 + letter[:, 2:])
        x = torch.tanh(self.first(F.dropout(x, self.p, self.training)))
        return F.normalize(self.out(torch.tanh(self.second(x))))


class TwoTower(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.query, self.item = Tower(m), Tower(m)
        self.log_temperature = nn.Parameter(torch.tensor(float(m["temperature"])).log())

    def forward(self, query, item):
        similarity = self.query(query) @ self.item(item).T / self.log_temperature.exp().clamp(min=0.01)
        pair = torch.arange(len(query))
        return 0.5 * (F.cross_entropy(similarity, pair) + F.cross_entropy(similarity.T, pair))

    def outputs(self, query, item):
        return {"query": self.query(query), "item": self.item(item)}


class GNN(nn.Module):
    """A molecule's atoms are told what the atoms beside them say, through a matrix for each kind of bond."""

    def __init__(self, m):
        super().__init__()
        width, self.m = m["width"], m
        self.nodes = nn.Embedding(m["node_kinds"], width)
        self.message = nn.Linear(width, m["edge_kinds"] * width, bias=False)
        self.update = nn.GRU(width, width)
        self.gate, self.said = nn.Linear(2 * width, width), nn.Linear(width, width)
        self.hidden, self.head = nn.Linear(width, width), nn.Linear(width, m["classes"] or 1)

    def embedding(self, node, edge, edge_kind):
        """All graphs are one: its nodes [n], its edges between nodes of the same graph."""
        B, N = node.shape
        graph, place = edge_kind.nonzero().unbind(1)
        kind, ends = edge_kind[graph, place], edge[graph, place] + N * graph[:, None]
        matrices = self.message.weight.view(-1, self.m["width"], self.m["width"])
        x = h = self.nodes(node).flatten(0, 1)
        for _ in range(self.m["rounds"]):
            got = torch.zeros_like(h)
            for k in range(1, self.m["edge_kinds"]):
                of_kind = ends[kind == k]
                got = got.index_add(0, of_kind[:, 1], h[of_kind[:, 0]] @ matrices[k].T)
            h = self.update(got[None], h[None])[1][0]
        said = torch.sigmoid(self.gate(torch.cat((h, x), 1))) * torch.tanh(self.said(h))
        return (said.view(B, N, -1) * (node != 0)[:, :, None]).sum(1)

    def draw(self, r, rows):
        """Graphs of some nodes, which are filled up, and of edges between them."""
        m, edges = self.m, (rows, self.m["edges"])
        sizes = torch.randint(1, m["nodes"] + 1, (rows, 1), generator=r)
        node = torch.randint(1, m["node_kinds"], (rows, m["nodes"]), generator=r)
        kind = torch.randint(0, m["edge_kinds"], edges, generator=r)
        return {"node": node * (torch.arange(m["nodes"]) < sizes), "edge_kind": kind,
                "edge": torch.randint(0, 1000, (*edges, 2), generator=r) % sizes[:, None],
                "target": torch.randint(0, m["classes"] or 5, (rows,), generator=r)}  # fmt: skip

    def loss(self, batch, step):
        classes = self.m["classes"]
        if not classes:
            return self(**{**batch, "target": batch["target"].to(self.head.weight.dtype)}), None
        return self(**batch), self.last(self.embedding(batch["node"], batch["edge"], batch["edge_kind"]))

    def last(self, x):
        x = self.head(F.relu(self.hidden(x)))
        return x if self.m["classes"] else x.squeeze(1)

    def forward(self, node, edge, edge_kind, target):
        last = self.last(self.embedding(node, edge, edge_kind))
        return F.cross_entropy(last, target) if self.m["classes"] else F.mse_loss(last, target)

    def outputs(self, node, edge, edge_kind):
        x = self.embedding(node, edge, edge_kind)
        return {"embedding": x, "logits" if self.m["classes"] else "prediction": self.last(x)}


class Residual(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.ln, self.drop = nn.LayerNorm(m["width"]), nn.Dropout(m["dropout"])
        self.up, self.down = nn.Linear(m["width"], 2 * m["width"]), nn.Linear(2 * m["width"], m["width"])

    def forward(self, x):
        return x + self.down(self.drop(F.gelu(self.up(self.ln(x)))))


class Tabular(nn.Module):
    """Residual blocks over numbers and embedded categories, to a class or one number"""

    def __init__(self, m):
        super().__init__()
        self.levels = nn.Embedding(m["levels"], m["embed"]) if m["categories"] else None
        self.columns = nn.Linear(m["numbers"] + m["categories"] * m["embed"], m["width"])
        self.layers = nn.ModuleList(Residual(m) for _ in range(m["layers"]))
        self.ln, self.head = nn.LayerNorm(m["width"]), nn.Linear(m["width"], m["classes"] or 1)
        self.classes = m["classes"]

    def outputs(self, numbers, categories):
        x = self.columns(torch.cat([numbers, self.levels(categories).flatten(1)], -1) if self.levels else numbers)
        for layer in self.layers:
            x = layer(x)
        x = self.head(self.ln(x))
        return x if self.classes else x.squeeze(-1)

    def forward(self, targets, **rows):
        own = self.outputs(**rows)
        return F.cross_entropy(own, targets) if self.classes else F.mse_loss(own, targets)


class Speech(nn.Module):
    """CTC, or with keywords a class, over two convolutions and GRUs both ways"""

    def __init__(self, m):
        super().__init__()
        self.m, width = m, m["width"]
        self.conv_half, self.conv_half_ln = nn.Conv1d(m["n_mels"], width, 5, 2, 2), nn.LayerNorm(width)
        self.conv, self.conv_ln = nn.Conv1d(width, width, 5, m["stride"], 2), nn.LayerNorm(width)
        self.gru = nn.GRU(width, width // 2, m["layers"], batch_first=True, bidirectional=True, dropout=m["dropout"])
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, m["vocab"])

    def subsampled(self, x, lengths, conv, norm):
        x = conv(x.transpose(1, 2)).transpose(1, 2)
        lengths = (lengths + conv.stride[0] - 1) // conv.stride[0]
        x = F.dropout(F.gelu(norm(x)), self.m["dropout"], self.training)
        return x * (torch.arange(x.shape[1]) < lengths[:, None])[..., None], lengths

    def outputs(self, features, lengths):
        x, lengths = self.subsampled(features, lengths, self.conv_half, self.conv_half_ln)
        x, lengths = self.subsampled(x, lengths, self.conv, self.conv_ln)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        x = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=x.shape[1])[0]
        return {"logits": self.head(F.dropout(self.ln_f(x), self.m["dropout"], self.training)), "lengths": lengths}

    def forward(self, features, lengths, text, text_lengths):
        own = self.outputs(features, lengths)
        log_probs = own["logits"].log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(log_probs, text, own["lengths"], text_lengths, zero_infinity=True)


NETWORKS = {"vae": VAE, "unet": UNet, "twotower": TwoTower, "gnn": GNN}
