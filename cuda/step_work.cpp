#include "cuda/step_work.h"

#include <algorithm>
#include <vector>

namespace feedline {

double median_length_ns(const Stream& stream, int repetitions, const std::function<void()>& enqueue) {
    enqueue();  // loads the code
    std::vector<double> lengths;
    for (int k = 0; k < repetitions; ++k) {
        Event begin;
        Event end;
        begin.record(stream);
        enqueue();
        end.record(stream);
        end.wait();
        lengths.push_back(end.ns_since(begin));
    }
    const auto middle = lengths.begin() + repetitions / 2;
    std::nth_element(lengths.begin(), middle, lengths.end());
    return *middle;
}

}  // namespace feedline
