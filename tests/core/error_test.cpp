#include "core/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace feedline {
namespace {

TEST(Error, SaysWhatWhereWhyAndWhatToDoOnOneLine) {
    const Error error =
        Error(ErrorKind::io, "cannot read").at("/data/a.jpg", 4096).because(EIO).advise("check the disk");
    EXPECT_STREQ(error.what(), "cannot read: /data/a.jpg at offset 4096: Input/output error (errno 5). check the disk");
}

TEST(Error, NamesOfAnyBytesStayOnOneLine) {
    EXPECT_EQ(printable("a\nb\x7f"), "a\\x0ab\\x7f");
    EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
    EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1 control: CSI
    EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8");           // cut short
}

TEST(Error, ExitCodesFollowTheContract) {
    EXPECT_EQ(exit_code(ErrorKind::usage), 2);
    EXPECT_EQ(exit_code(ErrorKind::unsupported), 4);
    EXPECT_EQ(exit_code(ErrorKind::io), 5);
    EXPECT_EQ(exit_code(ErrorKind::out_of_space), 5);
    EXPECT_EQ(exit_code(ErrorKind::timeout), 5);
    EXPECT_EQ(exit_code(ErrorKind::interrupted), 130);
}

TEST(Error, AFullDiskIsAKindOfItsOwn) {
    EXPECT_EQ(system_error(ENOSPC, "cannot write", "x").kind(), ErrorKind::out_of_space);
    EXPECT_EQ(system_error(EDQUOT, "cannot write", "x").kind(), ErrorKind::out_of_space);
    EXPECT_EQ(system_error(EACCES, "cannot write", "x").kind(), ErrorKind::io);
}

}  // namespace
}  // namespace feedline
