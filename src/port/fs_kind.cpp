// SPDX-License-Identifier: MIT
// Magic numbers of file systems. Written out as numbers: <linux/magic.h> lacks most of them.
#include "port/fs_kind.hpp"

#include <sys/vfs.h>

#include <atomic>
#include <cerrno>

#include "port/retry.hpp"

namespace tlc::port {

namespace {

constinit std::atomic<int> forced{-1};

FsKind kind_of(std::uint32_t magic) {
  switch (magic) {
    case 0x6969:      // nfs
    case 0x517B:      // smbfs
    case 0xFF534D42:  // cifs
    case 0xFE534D42:  // smb2
    case 0x564C:      // ncp
    case 0x0BD00BD0:  // lustre
    case 0x47504653:  // gpfs
    case 0x01021997:  // 9p
    case 0x65735546:  // fuse, sshfs and glusterfs through it, and virtiofs
    case 0x5346414F:  // afs (openafs)
    case 0x6B414653:  // afs (the kernel's)
    case 0x73757245:  // coda
    case 0x00C36400:  // ceph
    case 0xAAD7AAEA:  // panfs
    case 0x19830326:  // beegfs (fhgfs)
    case 0x7461636F:  // ocfs2
    case 0x01161970:  // gfs2
    case 0x20030528:  // orangefs (pvfs2)
    case 0xA501FCF5:  // vxfs, which clusters
    case 0xBACBACBC:  // vmhgfs
    case 0x786F4256:  // vboxsf
    case 0x61636673:  // acfs
    case 0x013111A8:  // ibrix
    case 0xBEEFDEAD:  // snfs
      return FsKind::network;
    case 0xEF53:      // ext2, ext3, ext4
    case 0x58465342:  // xfs
    case 0x9123683E:  // btrfs
    case 0x2FC12FC1:  // zfs
    case 0xCA451A4E:  // bcachefs
    case 0x01021994:  // tmpfs
    case 0x858458F6:  // ramfs
    case 0x794C7630:  // overlayfs: its upper layer is a disk of this host
    case 0x61756673:  // aufs
    case 0xF2F52010:  // f2fs
    case 0x52654973:  // reiserfs
    case 0x3153464A:  // jfs
    case 0x3434:      // nilfs2
    case 0x4D44:      // fat
    case 0x2011BAB0:  // exfat
    case 0x7366746E:  // ntfs3
    case 0x5346544E:  // ntfs
    case 0x4244:      // hfs
    case 0x482B:      // hfs+
    case 0x24051905:  // ubifs
    case 0x72B6:      // jffs2
    case 0x73717368:  // squashfs
    case 0xE0F5E1E2:  // erofs
    case 0x28CD3D45:  // cramfs
    case 0x9660:      // iso9660
    case 0x15013346:  // udf
      return FsKind::local;
    default:
      return FsKind::unknown;
  }
}

}  // namespace

Result<FsKind> fs_kind(int fd) {
  if (const int kind = forced.load(std::memory_order_relaxed); kind >= 0) {
    return static_cast<FsKind>(kind);
  }
  struct statfs st {};
  if (retry([&] { return ::fstatfs(fd, &st); }) != 0) {
    return io_error(errno, "cannot tell the kind of file system");
  }
  return kind_of(static_cast<std::uint32_t>(st.f_type));
}

void set_fs_kind_for_test(FsKind kind, bool on) {
  forced.store(on ? static_cast<int>(kind) : -1, std::memory_order_relaxed);
}

}  // namespace tlc::port
