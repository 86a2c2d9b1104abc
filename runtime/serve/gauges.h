/* gauges.h: numbers for programs that watch, such as Prometheus: OpenMetrics 1.0 over HTTP, on this machine alone. */
#ifndef LATHE_SERVE_GAUGES_H
#define LATHE_SERVE_GAUGES_H

typedef struct Gauges Gauges;
/* Answers GET /metrics at 127.0.0.1; port 0: any that is free.  model and run become labels of all numbers.  Ends the
 * program (1) if the port cannot be opened or libmicrohttpd is missing. */
Gauges *open_gauges(int port, const char *model, const char *run);
int port_of_gauges(const Gauges *g);
/* A gauge is called lathe_NAME; what OpenMetrics does not allow in names becomes _. */
void set_gauge(Gauges *g, const char *name, double value);
void close_gauges(Gauges *g);

#endif
