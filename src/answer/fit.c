#include "answer/fit.h"

#include "answer/ascii.h"

#include <stdlib.h>
#include <string.h>

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes of the escape sequences at text: colours only, ESC [ … m. */
static size_t escapes_at(const char *text)
{
    size_t all = 0;
    while (text[all] == '\033' && text[all + 1] == '[') {
        const size_t length = 2 + strspn(text + all + 2, "0123456789;");
        if (text[all + length] != 'm')
            break;
        all += length + 1;
    }
    return all;
}

/* Bytes of a character with the escape sequences ahead of it. */
static size_t step(const char *text)
{
    size_t length = escapes_at(text);
    length += text[length] != '\0';
    while (continues(text[length]))
        length++;
    return length;
}

/* Whether more than escape sequences stands there. */
static bool is_more(const char *text)
{
    return text[escapes_at(text)] != '\0';
}

int gn_columns_of(const char *text)
{
    int used = 0;
    for (; is_more(text); used++)
        text += step(text);
    return used;
}

/* The bytes that so many columns of text take. */
static size_t bytes_of(const char *text, int columns)
{
    size_t used = 0;
    for (; columns > 0 && is_more(text + used); columns--)
        used += step(text + used);
    return used;
}

void gn_print_short(const char *text, int columns, bool is_middle, const struct gn_terminal *terminal,
                    FILE *out)
{
    const int all = gn_columns_of(text);
    if (all <= columns) {
        fputs(text, out);
        return;
    }
    const int tail = is_middle && columns > 4 ? columns / 2 : 0, head = columns - 1 - tail;
    fwrite(text, 1, bytes_of(text, head), out);
    fputs(terminal->ascii ? "~" : "…", out);
    fputs(text + bytes_of(text, all - tail), out); /* colours end there, too */
}

char *gn_short_copy(char *text, size_t size, const char *raw, int columns, const struct gn_terminal *terminal)
{
    FILE *out = fmemopen(text, size, "w");
    text[0] = '\0';
    if (!out)
        return text;
    gn_print_short(raw, columns, true, terminal, out);
    fclose(out);
    text[size - 1] = '\0';
    return text;
}

/* Whether the space there is between a number and its unit, which stay together. */
static bool is_in_quantity(const char *text, size_t space)
{
    static const char *const units[] = {"ns", "us", "ms", "s", "%", "ppm", "B", "KiB", "MiB", "GiB"};
    const char *unit = text + space + 1;
    const size_t length = strspn(unit, "%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (space == 0 || text[space - 1] < '0' || text[space - 1] > '9')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == length && strncmp(unit, units[i], length) == 0)
            return true;
    return false;
}

const char *gn_fold_piece(const char *text, int columns, size_t *bytes)
{
    size_t used = 0, space = 0;
    for (int column = 0; is_more(text + used); column++) {
        const size_t here = used + escapes_at(text + used);
        if (text[here] == ' ' && column > 0 && (column <= columns || !space) && !is_in_quantity(text, here))
            space = here;
        else if (text[here] != ' ' && column >= columns && space)
            break;
        used += step(text + used);
    }
    *bytes = is_more(text + used) ? space : strlen(text);
    const char *next = is_more(text + used) ? text + space + strspn(text + space, " ") : NULL;
    while (next && *bytes > 0 && text[*bytes - 1] == ' ')
        --*bytes;
    return next;
}

/* A word that is wider than that is shortened in its middle. */
static void print_piece(const char *text, size_t bytes, int columns, const struct gn_terminal *terminal,
                        FILE *out)
{
    char *piece = terminal ? strndup(text, bytes) : NULL;
    if (piece)
        gn_print_short(piece, columns, true, terminal, out);
    else
        fwrite(text, 1, bytes, out);
    free(piece);
}

void gn_print_folded(const char *text, int at, int width, const struct gn_terminal *terminal, FILE *out)
{
    size_t bytes;
    for (const char *next; text; text = next) {
        next = gn_fold_piece(text, width - at, &bytes);
        print_piece(text, bytes, width - at, terminal, out);
        if (next)
            fprintf(out, "\n%*s", at, "");
    }
}

/* What does not fit goes on two columns further in. */
static void fold_line(const char *line, int width, FILE *out)
{
    const int indent = (int)strspn(line, " ");
    size_t bytes;
    const char *next = gn_fold_piece(line + indent, width - indent, &bytes);
    fwrite(line, 1, (size_t)indent + bytes, out);
    if (next)
        fprintf(out, "\n%*s", indent + 2, "");
    if (next)
        gn_print_folded(next, indent + 2, width, NULL, out);
}

/* Without the blanks at its end, which stand for cells with nothing in them. */
static void print_as_it_is(const char *line, FILE *out)
{
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    fwrite(line, 1, length, out);
}

void gn_fold(const char *text, int width, FILE *out)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        char *line = strndup(text, length);
        if (line && line[0] == *GN_AS_IT_IS)
            print_as_it_is(line + 1, out);
        else if (line)
            fold_line(line, width, out);
        else
            fwrite(text, 1, length, out);
        free(line);
        text += length;
        if (*text == '\n')
            fputc(*text++, out);
    }
}

void gn_page_open(struct gn_page *page, const struct gn_terminal *terminal, FILE *out)
{
    *page = (struct gn_page){.real = out, .terminal = terminal};
    page->out = open_memstream(&page->text, &page->size);
    if (!page->out)
        *page = (struct gn_page){.out = out, .terminal = terminal};
}

void gn_page_close(struct gn_page *page)
{
    if (!page->real)
        return;
    const bool failed = ferror(page->out) != 0;
    if (fclose(page->out) == 0 && page->text && !failed)
        gn_fold(page->terminal->ascii ? gn_ascii(page->text) : page->text, page->terminal->width, page->real);
    free(page->text);
}
