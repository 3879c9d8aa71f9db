"""ResNet-50 as torchvision has it (the stride in the 3x3 convolution), without torchvision, which a GPU machine may lack."""

from torch import nn


def normalised(channels, out, kernel, stride=1):
    return [nn.Conv2d(channels, out, kernel, stride, padding=kernel // 2, bias=False), nn.BatchNorm2d(out)]


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.branch = nn.Sequential(
            *normalised(channels, width, 1),
            nn.ReLU(inplace=True),
            *normalised(width, width, 3, stride),
            nn.ReLU(inplace=True),
            *normalised(width, out, 1),
        )
        self.shortcut = nn.Identity() if channels == out else nn.Sequential(*normalised(channels, out, 1, stride))
        self.rectifier = nn.ReLU(inplace=True)

    def forward(self, image):
        return self.rectifier(self.branch(image) + self.shortcut(image))


def resnet50(classes):
    layers = [*normalised(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1)]
    channels = 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for place in range(depth):
            layers.append(Bottleneck(channels, width, stride if place == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
