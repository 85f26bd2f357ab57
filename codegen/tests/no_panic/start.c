/* An entry point without a C library; the inputs are unknown to the compiler. */
typedef __SIZE_TYPE__ size_t;
unsigned choose(const unsigned dims[9], unsigned qoe);
unsigned one_point(const unsigned dims[6], unsigned short point);
unsigned control(const unsigned dims[6], unsigned qoe, const unsigned long long events[16][3]);
volatile unsigned dims_in[9], qoe_in, point_out;
volatile unsigned long long events_in[16][3];

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
    point_out = one_point(dims, qoe_in);
    unsigned long long events[16][3];
    for (int i = 0; i < 16 * 3; i++) events[i / 3][i % 3] = events_in[i / 3][i % 3];
    point_out = control(dims, qoe_in, events);
    for (;;) {}
}
