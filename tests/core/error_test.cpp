#include "core/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace feedline {
namespace {

TEST(Error, SaysWhatWhereWhyAndWhatToDoOnOneLine) {
    const Error error =
        Error(ErrorKind::io, "cannot read").at("/data/a.jpg", 4096).because(EIO).advise("check the disk");
    EXPECT_STREQ(error.what(),
                 "cannot read: /data/a.jpg at offset 4096: Input/output error (errno 5). Check the disk.");
}

TEST(Error, AdviceIsASentenceHoweverItWasWritten) {
    const auto line = [](const char* advice) {
        return std::string(Error(ErrorKind::usage, "no").advise(advice).what());
    };
    EXPECT_EQ(line("use another"), "no. Use another.");
    EXPECT_EQ(line("Use another."), "no. Use another.");
    EXPECT_EQ(line("--slots must be smaller"), "no. --slots must be smaller.");
    EXPECT_EQ(line("is it mounted?"), "no. Is it mounted?");
    EXPECT_EQ(line(""), "no");
}

TEST(Error, AnErrnoBringsItsAdviceUnlessThereIsBetter) {
    const auto line = [](int error_number) {
        return std::string(Error(ErrorKind::io, "cannot open").at("x").because(error_number).what());
    };
    EXPECT_NE(line(EMFILE).find(". Raise the limit of open files (ulimit -n)"), std::string::npos) << line(EMFILE);
    EXPECT_NE(line(ENFILE).find("fs.file-max"), std::string::npos);
    EXPECT_NE(line(ENOMEM).find("memory"), std::string::npos);
    EXPECT_NE(line(EACCES).find("permission"), std::string::npos);
    EXPECT_NE(line(EIO).find("Check the disk"), std::string::npos);
    EXPECT_NE(line(ESTALE).find("mount it again"), std::string::npos);
    // The disk is to blame only for what disks do.
    for (const int error_number : {EMFILE, ENFILE, ENOMEM, EACCES, EPERM, EROFS, ENOSPC, EDQUOT, ESTALE, ETIMEDOUT}) {
        EXPECT_EQ(line(error_number).find("disk"), std::string::npos) << line(error_number);
        EXPECT_FALSE(advice_about(error_number).empty());
    }
    EXPECT_EQ(advice_about(0), "");
    EXPECT_EQ(std::string(Error(ErrorKind::io, "no").because(EIO).advise("replace it").what()).find("dmesg"),
              std::string::npos);
    EXPECT_TRUE(is_shortage(EMFILE));
    EXPECT_FALSE(is_shortage(EIO));
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
