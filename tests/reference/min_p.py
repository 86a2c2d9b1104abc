"""min_p.py: what transformers leaves of logits after temperature, top-k, top-p and min-p, in that order: min_p.py OUT.json.
Each case: [logits, temperature, top_k, top_p, min_p, [[id, probability]…]]."""
import json
import sys

import torch
from transformers import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

torch.manual_seed(1)
cases = []
for n, temperature, top_k, top_p, min_p in [(12, 1.0, 0, 1.0, 0.1), (12, 0.5, 0, 1.0, 0.02), (12, 2.0, 0, 1.0, 0.3), (12, 1.0, 4, 1.0, 0.05),
                                            (12, 1.0, 0, 0.8, 0.15), (12, 1.5, 6, 0.9, 0.2), (12, 1.0, 0, 1.0, 1.0), (12, 3.0, 0, 1.0, 0.0)]:
    logits = (2 * torch.randn(n)).float()
    x = logits.double()[None]
    x = TemperatureLogitsWarper(temperature)(None, x) if temperature != 1 else x
    x = TopKLogitsWarper(top_k)(None, x) if top_k else x
    x = TopPLogitsWarper(top_p)(None, x) if top_p < 1 else x
    x = MinPLogitsWarper(min_p)(None, x) if min_p else x
    p = torch.softmax(x, -1)[0]
    cases.append([logits.tolist(), temperature, top_k, top_p, min_p, [[i, v] for i, v in enumerate(p.tolist()) if v > 0]])
with open(sys.argv[1], "w") as f:
    json.dump(cases, f)
