/* http_api.h: the part of libmicrohttpd's interface (0.9.71 and later) that serving needs, loaded when it is used. */
#ifndef LATHE_SERVE_HTTP_API_H
#define LATHE_SERVE_HTTP_API_H

#include <microhttpd.h>

typedef struct Http_api {
    __typeof__(&MHD_start_daemon) MHD_start_daemon;
    __typeof__(&MHD_stop_daemon) MHD_stop_daemon;
    __typeof__(&MHD_get_daemon_info) MHD_get_daemon_info;
    __typeof__(&MHD_get_connection_info) MHD_get_connection_info;
    __typeof__(&MHD_lookup_connection_value) MHD_lookup_connection_value;
    __typeof__(&MHD_suspend_connection) MHD_suspend_connection;
    __typeof__(&MHD_resume_connection) MHD_resume_connection;
    __typeof__(&MHD_create_response_from_buffer) MHD_create_response_from_buffer;
    __typeof__(&MHD_create_response_from_callback) MHD_create_response_from_callback;
    __typeof__(&MHD_add_response_header) MHD_add_response_header;
    __typeof__(&MHD_queue_response) MHD_queue_response;
    __typeof__(&MHD_destroy_response) MHD_destroy_response;
} Http_api;

void load_http(Http_api *to); /* ends the program (1) where the library is missing */

#endif
