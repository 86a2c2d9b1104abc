/* version.h: the versions of Lathe, of the checkpoints that it writes and of the libraries that it makes, as semver.org means
 * them.  A reader takes a file of its own major version or an older one; a newer minor one has more, which it leaves
 * unread. */
#ifndef LATHE_INTERFACE_VERSION_H
#define LATHE_INTERFACE_VERSION_H

#define LATHE_VERSION "1.0.0"

/* Of state.json ("format", "minor") and of what NAME_save writes (the note "format_version"). */
enum { LATHE_CHECKPOINT_MAJOR = 1, LATHE_CHECKPOINT_MINOR = 0 };

/* Of the functions and structs in NAME.h that do not depend on the model. */
enum { LATHE_ABI_MAJOR = 1, LATHE_ABI_MINOR = 0 };

#endif
