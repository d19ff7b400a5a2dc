// Which class a sample belongs to, and what its file is called: class_00041/class_00041_0000007.bin
//
// Numbers are padded with zeros, so that names sort as numbers and a label (sorted names -> 0, 1, 2, ...) is the number
// in the name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace feedline {

class DatasetLayout {
public:
    // Throws Error{usage} when there are no samples, no classes, or more classes than samples.
    DatasetLayout(std::uint64_t samples, std::uint64_t classes, std::string_view suffix);

    std::uint64_t samples() const { return samples_; }
    std::uint64_t classes() const { return classes_; }
    // Class c holds samples first_sample(c) .. first_sample(c + 1) - 1; the counts of two classes differ by at most
    // one.
    std::uint64_t first_sample(std::uint64_t class_number) const;
    std::uint64_t largest_class_samples() const { return (samples_ + classes_ - 1) / classes_; }

    std::string class_name(std::uint64_t class_number) const;
    // Name without directory; `number` counts within the class.
    std::string file_name(std::uint64_t class_number, std::uint64_t number) const;

private:
    std::uint64_t samples_;
    std::uint64_t classes_;
    std::string suffix_;
};

}  // namespace feedline
