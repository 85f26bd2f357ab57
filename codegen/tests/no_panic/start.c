/* An entry point without a C library; the inputs are unknown to the compiler. */
typedef __SIZE_TYPE__ size_t;
unsigned choose(const unsigned dims[9], unsigned qoe);
volatile unsigned dims_in[9], qoe_in, point_out;

void *memcpy(void *to, const void *from, size_t n) {
    char *t = to;
    const char *f = from;
    while (n--) *t++ = *f++;
    return to;
}
void *memset(void *to, int value, size_t n) {
    char *t = to;
    while (n--) *t++ = (char)value;
    return to;
}

void _start(void) {
    unsigned dims[9];
    for (int i = 0; i < 9; i++) dims[i] = dims_in[i];
    point_out = choose(dims, qoe_in);
    for (;;) {}
}
