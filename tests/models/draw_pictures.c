/* draw_pictures.c: FOLDER COUNT: pictures of three classes, JPEG and PNG in turn, whose colour shows their class. */
#include <stdio.h> /* before jpeglib.h */

#include <jpeglib.h>
#include <png.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST = 64 };

static unsigned char rgb[MOST * MOST * 3];

static void draw(int width, int height, int class, int number)
{
    for (int i = 0; i < width * height; i++)
        for (int c = 0; c < 3; c++)
            rgb[3 * i + c] =
                (unsigned char)((i * (7 + number) + i / width * 13 + c * 31) % 90 + (c == class ? 140 : 0));
}

static void write_jpeg(const char *path, int width, int height)
{
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(path, "wb");
    j.err = jpeg_std_error(&errors);
    jpeg_create_compress(&j);
    jpeg_stdio_dest(&j, f);
    j.image_width = (unsigned)width, j.image_height = (unsigned)height;
    j.input_components = 3, j.in_color_space = JCS_RGB;
    jpeg_set_defaults(&j);
    jpeg_set_quality(&j, 90, TRUE);
    jpeg_start_compress(&j, TRUE);
    for (int y = 0; y < height; y++) jpeg_write_scanlines(&j, (JSAMPROW[]){rgb + 3 * width * y}, 1);
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    fclose(f);
}

static void write_png(const char *path, int width, int height)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = (unsigned)width, .height = (unsigned)height, .format = PNG_FORMAT_RGB};
    if (!png_image_write_to_file(&image, path, 0, rgb, 0, NULL)) perror(path), exit(1);
}

int main(int n, char **word)
{
    static const char *const classes[] = {"red", "green", "deep blue"};
    char path[512];
    if (n != 3 || mkdir(word[1], 0777) != 0) return perror("FOLDER COUNT"), 2;
    for (int c = 0; c < 3; c++) {
        snprintf(path, sizeof path, "%s/%s", word[1], classes[c]);
        if (mkdir(path, 0777) != 0) return perror(path), 1;
        for (int i = 0; i < atoi(word[2]); i++) {
            int width = 14 + (i * 5 + c) % 40, height = 13 + (i * 11) % 45;
            draw(width, height, c, i);
            snprintf(path, sizeof path, "%s/%s/%02d.%s", word[1], classes[c], i, i % 2 ? "png" : "jpg");
            if (i % 2) write_png(path, width, height);
            else write_jpeg(path, width, height);
        }
    }
    return 0;
}
