/* SPDX-License-Identifier: MIT */
/**
 * @file version.h
 * @brief Version of the headers a program is compiled with. The running library's own is tlc_version().
 */
#ifndef TLCACHE_VERSION_H
#define TLCACHE_VERSION_H

#define TLC_VERSION_MAJOR 0
#define TLC_VERSION_MINOR 1
#define TLC_VERSION_PATCH 0
#define TLC_VERSION_STRING "0.1.0"

/** 0xMMmmpp00: major, minor, patch, zero. */
#define TLC_VERSION ((TLC_VERSION_MAJOR << 24) | (TLC_VERSION_MINOR << 16) | (TLC_VERSION_PATCH << 8))

/** The ABI of these headers: major changes on a break, minor on an addition. Before 1.0 both are 0.x. */
#define TLC_ABI_MAJOR 0
#define TLC_ABI_MINOR 3

/** What an exported function is declared with. */
#if defined(TLC_STATIC)
#define TLC_API
#elif defined(__GNUC__)
#define TLC_API __attribute__((visibility("default")))
#else
#define TLC_API
#endif

#endif /* TLCACHE_VERSION_H */
