"""ResNet-50 (He et al., 2015), written out: needs only PyTorch, and no network.

The names of the layers are those of the weights that are published for it, so that those load.
"""

from torch import nn


class Bottleneck(nn.Module):
    """Three convolutions with a shortcut: the input itself, or its projection where the shape changes."""

    expansion = 4

    def __init__(self, channels_in, channels, stride):
        super().__init__()
        channels_out = channels * self.expansion
        self.conv1 = nn.Conv2d(channels_in, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, channels_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels_in != channels_out:
            projection = nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False)
            self.downsample = nn.Sequential(projection, nn.BatchNorm2d(channels_out))

    def forward(self, x):
        around = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + around)


class ResNet50(nn.Module):
    """Four stages of 16 blocks; `width` is the number of channels of the first."""

    def __init__(self, classes=1000, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = stage(width, width, blocks=3, stride=1)
        self.layer2 = stage(4 * width, 2 * width, blocks=4, stride=2)
        self.layer3 = stage(8 * width, 4 * width, blocks=6, stride=2)
        self.layer4 = stage(16 * width, 8 * width, blocks=3, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(32 * width, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            # Each block starts as the identity, which keeps the first steps with big batches stable.
            elif isinstance(module, Bottleneck):
                nn.init.zeros_(module.bn3.weight)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def stage(channels_in, channels, blocks, stride):
    first = Bottleneck(channels_in, channels, stride)
    rest = [Bottleneck(channels * Bottleneck.expansion, channels, 1) for _ in range(blocks - 1)]
    return nn.Sequential(first, *rest)
