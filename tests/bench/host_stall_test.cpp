#include "bench/host_stall.h"

#include <gtest/gtest.h>

namespace feedline {
namespace {

constexpr Nanoseconds kMs = 1'000'000;
constexpr Nanoseconds kSecond = kNanosecondsPerSecond;

TEST(HostStalls, ASleeperThatWakesInTimeMetNone) {
    HostStalls stalls;
    for (Nanoseconds due = kSecond; due < 100 * kSecond; due += 50 * kMs) stalls.slept(due, due + 60 * kMs, 0);
    stalls.slept(200 * kSecond, 200 * kSecond - 40 * kMs, 10 * kMs);  // was woken before
    EXPECT_EQ(stalls.between(0, 1000 * kSecond), 0);
}

TEST(HostStalls, AGapIsAsLongAsTheSleeperWasLate) {
    HostStalls stalls;
    stalls.slept(10 * kSecond, 11 * kSecond, 0);
    stalls.slept(20 * kSecond, 23 * kSecond, 0);
    EXPECT_EQ(stalls.between(0, 100 * kSecond), 4 * kSecond);
}

TEST(HostStalls, WhatTheProcessUsedMeanwhileIsNoGap) {
    HostStalls stalls;
    stalls.slept(10 * kSecond, 11 * kSecond, 100 * kMs);
    EXPECT_EQ(stalls.between(0, 100 * kSecond), 900 * kMs);
    stalls.slept(20 * kSecond, 21 * kSecond, 2 * kSecond);  // two threads ran all the time
    stalls.slept(30 * kSecond, 31 * kSecond, 900 * kMs);
    EXPECT_EQ(stalls.between(0, 100 * kSecond), 900 * kMs);
}

TEST(HostStalls, OnlyWhatLiesBetweenTheTimesCounts) {
    HostStalls stalls;
    stalls.slept(10 * kSecond, 12 * kSecond, 0);
    EXPECT_EQ(stalls.between(11 * kSecond, 100 * kSecond), kSecond);
    EXPECT_EQ(stalls.between(0, 11 * kSecond), kSecond);
    EXPECT_EQ(stalls.between(12 * kSecond, 100 * kSecond), 0);
    EXPECT_EQ(stalls.between(0, 10 * kSecond), 0);
}

}  // namespace
}  // namespace feedline
