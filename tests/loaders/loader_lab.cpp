#include "tests/loaders/loader_lab.h"

#include <cstring>
#include <random>

namespace feedline::test {

std::vector<std::uint64_t> some_lengths(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> lengths(count);
    for (std::uint64_t& length : lengths) length = random() % 7 == 0 ? random() % 3 : random() % 6000;
    return lengths;
}

std::uint64_t count_of(const std::vector<std::vector<SampleId>>& batches) {
    std::uint64_t count = 0;
    for (const auto& batch : batches) count += batch.size();
    return count;
}

std::shared_ptr<Slab> slab_for(const Dataset& dataset, const Order& order, const LoaderOptions& options) {
    const PlanOptions plan = plan_options(options.engine, options.slots);
    std::shared_ptr<Slab> slab = make_host_slab(staging_need(dataset, std::span(&order, 1), plan).slab_bytes);
    std::memset(slab->data(), 0xEE, slab->bytes());
    return slab;
}

void expect_batch(const Batch& batch, const RecordDataset& dataset, const Order& order, Delivery& delivery) {
    EXPECT_EQ(batch.index, delivery.batches.size());
    std::vector<SampleId> ids(order.batch_samples(batch.index));
    order.batch(batch.index, ids);
    ASSERT_EQ(batch.samples.size(), ids.size());
    std::vector<SampleId>& delivered = delivery.batches.emplace_back();
    std::uint64_t payload = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const SampleView& view = batch.samples[i];
        ASSERT_EQ(view.id, ids[i]);
        if (view.status == SampleStatus::skipped) {
            EXPECT_EQ(view.length_bytes, 0U);
            delivery.skipped.push_back(view.id);
            continue;
        }
        delivered.push_back(view.id);
        payload += view.length_bytes;
        ASSERT_LE(view.offset_bytes + view.length_bytes, batch.bytes);
        const std::string expected = dataset.content(view.id);
        const std::string_view got(reinterpret_cast<const char*>(batch.data) + view.offset_bytes, view.length_bytes);
        ASSERT_TRUE(got == expected) << "sample " << view.id;
    }
    EXPECT_EQ(batch.payload_bytes, payload);
    std::uint64_t traced = 0;
    Nanoseconds first = batch.ready_ns;
    for (const RequestTrace& trace : batch.trace) {
        traced += trace.samples;
        EXPECT_LE(batch.slot_ns, trace.issued_ns);
        EXPECT_LE(trace.issued_ns, trace.opened_ns);
        EXPECT_LE(trace.opened_ns, trace.read_ns);
        EXPECT_LE(trace.read_ns, trace.decoded_ns);
        EXPECT_LE(trace.decoded_ns, batch.ready_ns);
        first = std::min(first, trace.issued_ns);
    }
    EXPECT_EQ(traced, ids.size());
    EXPECT_EQ(batch.first_issue_ns, ids.empty() ? 0 : first);
}

Delivery drain(Loader& loader, const RecordDataset& dataset, const Order& order) {
    Delivery delivery;
    while (const Batch* batch = loader.next()) {
        expect_batch(*batch, dataset, order, delivery);
        loader.release(batch->index);
    }
    return delivery;
}

}  // namespace feedline::test
