#include "onednn.hpp"

namespace tilefold::cpu {
namespace {

using Tag = dnnl::memory::format_tag;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Tag activationTag(Layout layout) {
  switch (layout) {
    case Layout::plain:
      return Tag::nchw;
    case Layout::nChw8c:
      return Tag::nChw8c;
    case Layout::nChw16c:
      return Tag::nChw16c;
    default:
      throw Failure(std::string(layoutInfo(layout).name) + " is no layout of activations");
  }
}

// undef: oneDNN has no such layout.
Tag weightTag(Layout layout, bool grouped) {
  switch (layout) {
    case Layout::plain:
      return grouped ? Tag::goihw : Tag::oihw;
    case Layout::OIhw8i8o:
      return grouped ? Tag::gOIhw8i8o : Tag::OIhw8i8o;
    case Layout::OIhw16i16o:
      return grouped ? Tag::gOIhw16i16o : Tag::OIhw16i16o;
    case Layout::OIhw8o8i:
      return grouped ? Tag::gOIhw8o8i : Tag::OIhw8o8i;
    case Layout::OIhw16o16i:
      return grouped ? Tag::gOIhw16o16i : Tag::OIhw16o16i;
    case Layout::IOhw16o16i:
      return grouped ? Tag::gIOhw16o16i : Tag::IOhw16o16i;
    case Layout::Ohwi8o:
      return grouped ? Tag::gOhwi8o : Tag::Ohwi8o;
    case Layout::Ohwi16o:
      return grouped ? Tag::gOhwi16o : Tag::Ohwi16o;
    case Layout::OIhw8i16o2i:
      return grouped ? Tag::gOIhw8i16o2i : Tag::OIhw8i16o2i;
    case Layout::OIhw8o16i2o:
      return grouped ? Tag::gOIhw8o16i2o : Tag::OIhw8o16i2o;
    case Layout::IOhw8o16i2o:
      return grouped ? Tag::gIOhw8o16i2o : Tag::IOhw8o16i2o;
    case Layout::Ohwi16o2i:
      return grouped ? Tag::undef : Tag::OhwI16o2i;
    case Layout::Goihw8g:
      return Tag::Goihw8g;
    case Layout::Goihw16g:
      return Tag::Goihw16g;
    default:
      return Tag::undef;
  }
}

// On arm64 oneDNN 3.7.2 has kernels for SVE of 256 bits and more alone. Those of 256 compute some
// dilated convolutions wrongly, those of more reach past the ends of their operands.
#ifdef __aarch64__
constexpr bool isTrusted = false;
#else
constexpr bool isTrusted = true;
#endif

dnnl::memory::dims withoutOne(const dnnl::memory::dims& dilations) {
  dnnl::memory::dims result = dilations;
  for (dnnl::memory::dim& dilation : result) --dilation;
  return result;
}

#if DNNL_VERSION_MAJOR >= 3
// By the interface of C, which does without a forward convolution as the hint of a backward one.
dnnl_status_t describe(KernelKind kind, const ConvolutionDescriptors& c, const dnnl::primitive_attr& attributes,
                       dnnl_primitive_desc_t* found) {
  const dnnl_dim_t *strides = c.strides.data(), *before = c.paddingBefore.data(), *after = c.paddingAfter.data();
  const dnnl::memory::dims dilations = withoutOne(c.dilations);
  if (kind == KernelKind::convolutionForward)
    return dnnl_convolution_forward_primitive_desc_create(found, engine().get(), dnnl_forward_training, dnnl_convolution_direct,
                                                          c.source.get(), c.weights.get(), c.bias.get(), c.destination.get(), strides,
                                                          dilations.data(), before, after, attributes.get());
  if (kind == KernelKind::convolutionBackwardData)
    return dnnl_convolution_backward_data_primitive_desc_create(found, engine().get(), dnnl_convolution_direct, c.source.get(),
                                                                c.weights.get(), c.destination.get(), strides, dilations.data(), before,
                                                                after, nullptr, attributes.get());
  return dnnl_convolution_backward_weights_primitive_desc_create(found, engine().get(), dnnl_convolution_direct, c.source.get(),
                                                                 c.weights.get(), nullptr, c.destination.get(), strides,
                                                                 dilations.data(), before, after, nullptr, attributes.get());
}
#else
dnnl_status_t describe(KernelKind kind, const ConvolutionDescriptors& c, const dnnl::primitive_attr& attributes,
                       dnnl_primitive_desc_t* found) {
  const auto create = [&](const auto& operation) {
    return dnnl_primitive_desc_create(found, &operation.data, attributes.get(), engine().get(), nullptr);
  };
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  const dnnl::memory::dims dilations = withoutOne(c.dilations);
  if (kind == KernelKind::convolutionForward)
    return create(dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, direct, c.source, c.weights, c.bias, c.destination,
                                                  c.strides, dilations, c.paddingBefore, c.paddingAfter));
  if (kind == KernelKind::convolutionBackwardData)
    return create(dnnl::convolution_backward_data::desc(direct, c.source, c.weights, c.destination, c.strides, dilations, c.paddingBefore,
                                                        c.paddingAfter));
  return create(dnnl::convolution_backward_weights::desc(direct, c.source, c.weights, c.destination, c.strides, dilations, c.paddingBefore,
                                                         c.paddingAfter));
}
#endif

}  // namespace

std::string oneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
}

Descriptor activationDescriptor(DataType type, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t height,
                                std::int64_t width) {
  return {{batch, roundUp(channels, channelBlock(layout)), height, width}, type, activationTag(layout)};
}

std::optional<Descriptor> weightDescriptor(DataType type, const Convolution& c) {
  const LayoutInfo& info = layoutInfo(c.weightLayout);
  const std::int64_t groups = roundUp(c.groups, info.groups);
  // oneDNN pads pairs of inputs by itself, and reads zeros there.
  const std::int64_t inBlock = c.weightLayout == Layout::Ohwi16o2i ? 1 : info.in;
  const std::int64_t out = roundUp(c.outChannels / c.groups, info.out), in = roundUp(c.inChannels / c.groups, inBlock);
  const bool grouped = groups > 1;
  const Tag tag = weightTag(c.weightLayout, grouped);
  // Padding inside a group would shift the channels of the next one.
  if (c.groups > 1 && (out != c.outChannels / c.groups || in != c.inChannels / c.groups)) return std::nullopt;
  if (tag == Tag::undef || groups * out != roundUp(c.outChannels, channelBlock(c.destinationLayout)) ||
      groups * in != roundUp(c.inChannels, channelBlock(c.sourceLayout)))
    return std::nullopt;
  const dnnl::memory::dims dims = grouped ? dnnl::memory::dims{groups, out, in, c.kernelHeight, c.kernelWidth}
                                          : dnnl::memory::dims{out, in, c.kernelHeight, c.kernelWidth};
  return Descriptor(dims, type, tag);
}

Descriptor vectorDescriptor(std::int64_t count) { return {{count}, dnnl::memory::data_type::f32, Tag::x}; }

std::optional<Recipe> Recipe::find(KernelKind kind, const ConvolutionDescriptors& convolution) {
  if (!isTrusted) return std::nullopt;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl_primitive_desc_t found = nullptr;
  const dnnl_status_t status = describe(kind, convolution, attributes, &found);
  if (status == dnnl_unimplemented) return std::nullopt;
  dnnl::error::wrap_c_api(status, "could not describe a primitive");
  Recipe recipe(found);
  if (recipe.name().rfind("jit", 0) != 0) return std::nullopt;
  return recipe;
}

Primitive::Primitive(const Recipe& recipe, const std::vector<std::pair<int, Descriptor>>& arguments)
    : primitive_(recipe.description().get()) {
  for (const auto& [argument, descriptor] : arguments) {
    memories_.emplace_back(descriptor, engine(), nullptr);
    arguments_.emplace(argument, memories_.back());
  }
}

void Primitive::launch(const std::vector<void*>& addresses) const {
  static const dnnl::stream stream(engine());
  for (std::size_t i = 0; i < memories_.size(); ++i) memories_[i].set_data_handle(addresses[i]);
  primitive_.execute(stream, arguments_);
}

}  // namespace tilefold::cpu
