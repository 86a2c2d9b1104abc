/* clean.c: what BERT's normaliser does to text before it is cut: control characters go, white space becomes blanks,
 * ideographs stand by themselves, accents go, capital letters become small. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

/* The ideographs that BERT counts as words. */
static bool is_ideograph(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                         {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f},
                                         {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

/* Control characters and accents that are newer than Unicode 8, which Hugging Face's tokenizers know: they stay. */
static const uint32_t newer[][2] = {
    {0x7fd, 0x7fd},     {0x890, 0x891},     {0x898, 0x89f},     {0x8ca, 0x8e2},     {0x9fe, 0x9fe},
    {0xafa, 0xaff},     {0xb55, 0xb55},     {0xc04, 0xc04},     {0xc3c, 0xc3c},     {0xd00, 0xd00},
    {0xd3b, 0xd3c},     {0xd81, 0xd81},     {0xeba, 0xeba},     {0xece, 0xece},     {0x180f, 0x180f},
    {0x1885, 0x1886},   {0x1abf, 0x1ace},   {0x1df6, 0x1dfb},   {0xa82c, 0xa82c},   {0xa8c5, 0xa8c5},
    {0xa8ff, 0xa8ff},   {0xa9bd, 0xa9bd},   {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10efd, 0x10eff},
    {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x11073, 0x11074}, {0x110c2, 0x110c2},
    {0x110cd, 0x110cd}, {0x111c9, 0x111c9}, {0x111cf, 0x111cf}, {0x1123e, 0x1123e}, {0x11241, 0x11241},
    {0x1133b, 0x1133b}, {0x11438, 0x1143f}, {0x11442, 0x11444}, {0x11446, 0x11446}, {0x1145e, 0x1145e},
    {0x1182f, 0x11837}, {0x11839, 0x1183a}, {0x1193b, 0x1193c}, {0x1193e, 0x1193e}, {0x11943, 0x11943},
    {0x119d4, 0x119d7}, {0x119da, 0x119db}, {0x119e0, 0x119e0}, {0x11a01, 0x11a0a}, {0x11a33, 0x11a38},
    {0x11a3b, 0x11a3e}, {0x11a47, 0x11a47}, {0x11a51, 0x11a56}, {0x11a59, 0x11a5b}, {0x11a8a, 0x11a96},
    {0x11a98, 0x11a99}, {0x11c30, 0x11c36}, {0x11c38, 0x11c3d}, {0x11c3f, 0x11c3f}, {0x11c92, 0x11ca7},
    {0x11caa, 0x11cb0}, {0x11cb2, 0x11cb3}, {0x11cb5, 0x11cb6}, {0x11d31, 0x11d36}, {0x11d3a, 0x11d3a},
    {0x11d3c, 0x11d3d}, {0x11d3f, 0x11d45}, {0x11d47, 0x11d47}, {0x11d90, 0x11d91}, {0x11d95, 0x11d95},
    {0x11d97, 0x11d97}, {0x11ef3, 0x11ef4}, {0x11f00, 0x11f01}, {0x11f36, 0x11f3a}, {0x11f40, 0x11f40},
    {0x11f42, 0x11f42}, {0x13430, 0x13440}, {0x13447, 0x13455}, {0x16f4f, 0x16f4f}, {0x16fe4, 0x16fe4},
    {0x1cf00, 0x1cf2d}, {0x1cf30, 0x1cf46}, {0x1e000, 0x1e006}, {0x1e008, 0x1e018}, {0x1e01b, 0x1e021},
    {0x1e023, 0x1e024}, {0x1e026, 0x1e02a}, {0x1e08f, 0x1e08f}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae},
    {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef}, {0x1e944, 0x1e94a},
};

static bool is_newer(uint32_t c)
{
    int low = 0, high = sizeof newer / sizeof *newer;
    while (low < high) {
        int middle = (low + high) / 2;
        if (c > newer[middle][1]) low = middle + 1;
        else high = middle;
    }
    return low < (int)(sizeof newer / sizeof *newer) && c >= newer[low][0];
}

/* U+1734 was one then. */
static bool is_mark_on_letter(uint32_t c) { return c == 0x1734 || (is_accent(c) && !is_newer(c)); }

static bool is_dropped(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r') return false;
    return c == 0 || c == 0xfffd || (is_control_or_format(c) && !is_newer(c));
}

void put_clean(int what, const char *text, int64_t n, Draft_text *out)
{
    char room[8];
    for (int64_t i = 0; i < n;) {
        uint32_t c;
        int length = decode_utf8((const unsigned char *)text + i, n - i, &c), bytes = length;
        const char *at = text + i;
        i += length ? length : 1;
        if (!length) continue; /* no UTF-8: U+FFFD elsewhere, which goes too */
        if (what == CLEAN_TEXT && is_dropped(c)) continue;
        if (what == CLEAN_TEXT && is_space_at(at, length)) at = " ", bytes = 1;
        if (what == CLEAN_MARKS && is_mark_on_letter(c)) continue;
        if (what == CLEAN_CAPITALS) bytes = lower_letter(c, room), at = room;
        bool alone = what == CLEAN_IDEOGRAPHS && is_ideograph(c);
        if (alone) put_text(out, " ", 1);
        put_text(out, at, bytes);
        if (alone) put_text(out, " ", 1);
    }
}
