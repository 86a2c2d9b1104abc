/* freestanding_start.c: what a program for a bare processor needs, here Arm's MPS2 with a Cortex-M4 as QEMU has it:
 * vectors, the reset, memcpy and memset, and output through the debugger. */
#include <stddef.h>
#include <stdint.h>

int main(void);
void print(const char *text);
void reset(void);
extern uint32_t top_of_stack[], data_begin[], data_end[], data_from[], bss_begin[], bss_end[];

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {top_of_stack, (const void *)reset};

void *memcpy(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = (char)value;
    return to;
}

static void ask_debugger(int what, const void *with)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void print(const char *text) { ask_debugger(4, text); } /* SYS_WRITE0 */

void reset(void)
{
    *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* the unit of floats */
    __asm__ volatile("dsb\nisb");
    memcpy(data_begin, data_from, (size_t)((char *)data_end - (char *)data_begin));
    memset(bss_begin, 0, (size_t)((char *)bss_end - (char *)bss_begin));
    if (main() != 0) print("failed\n");
    ask_debugger(0x18, (const void *)0x20026); /* SYS_EXIT */
    for (;;) {}
}
