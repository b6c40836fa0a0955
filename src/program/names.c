#include "program/names.h"

#include "event/activity.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* libstdc++'s demangler, declared here because <cxxabi.h> is C++. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

enum { MANGLED_MAX = 32 * 1024, EXPANSION_MAX = 64 * 1024 * 1024 };

static size_t count_references(const char *mangled)
{
    size_t count = 0;
    for (const char *p = mangled; *p; p++)
        if ((*p == 'S' || *p == 'T') && p[1 + strspn(p + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '_')
            count++;
    return count;
}

/* Each back reference of a mangled name can double the text, so a few hundred bytes can ask for exabytes.
 * Measured on libstdc++, LLVM and LAMMPS, fewer than 3 in 1000 honest names exceed this bound. */
static bool expands_too_far(const char *mangled)
{
    size_t references = count_references(mangled);
    return references > 24 || strlen(mangled) << references > EXPANSION_MAX;
}

/* The bytes of a plain nested name, _ZN1a1b2fooE, at the start of a mangled function; 0 when it is not one.
 */
static size_t nested_name_bytes(const char *mangled)
{
    if (strncmp(mangled, "_ZN", 3) != 0)
        return 0;
    const char *p = mangled + 3 + strspn(mangled + 3, "KVrRO");
    while (isdigit((unsigned char)*p)) {
        char *name;
        unsigned long bytes = strtoul(p, &name, 10);
        if (bytes > strlen(name))
            return 0;
        p = name + bytes;
    }
    return *p == 'E' ? (size_t)(p + 1 - mangled) : 0;
}

/* NULL when the symbol cannot be demangled. Of a name that expands too far, the parameters are not tried. */
static char *demangle(const char *mangled)
{
    if (strncmp(mangled, "_Z", 2) != 0 || strlen(mangled) > MANGLED_MAX)
        return NULL;
    size_t bytes = expands_too_far(mangled) ? nested_name_bytes(mangled) : strlen(mangled);
    char *part = bytes ? strndup(mangled, bytes) : NULL;
    int status = 0;
    char *text = part ? __cxa_demangle(part, NULL, NULL, &status) : NULL;
    free(part);
    return text;
}

static bool opens(char c)
{
    return c == '(' || c == '<' || c == '{' || c == '[';
}

static bool closes(char c)
{
    return c == ')' || c == '>' || c == '}' || c == ']';
}

/* "void f<int>(int) const" becomes "void f<int>". Text after the last ')' that is more than qualifiers means
 * that the parenthesis belongs to the name itself ("(anonymous namespace)::x"). */
static void cut_parameters(char *text)
{
    char *close = strrchr(text, ')');
    if (!close || strpbrk(close, ">:}"))
        return;
    int depth = 0;
    for (char *p = close; p > text; p--) {
        depth += *p == ')';
        depth -= *p == '(';
        if (depth == 0) {
            *p = '\0';
            return;
        }
    }
}

/* Where the word "operator" starts outside all brackets (its own < or > would upset the count), or the end.
 */
static char *find_operator(char *text)
{
    static const char word[] = "operator";
    int depth = 0;
    char *p = text;
    for (; *p; p++) {
        bool starts = p == text || p[-1] == ':' || p[-1] == ' ';
        if (depth == 0 && starts && strncmp(p, word, sizeof word - 1) == 0)
            return p;
        depth += opens(*p);
        depth -= closes(*p);
    }
    return p;
}

/* "void f<int>" becomes "f<int>": the demangler writes return types for templates only. */
static const char *skip_return_type(char *text)
{
    int depth = 0;
    for (char *p = find_operator(text); p > text; p--) {
        depth += closes(p[-1]);
        depth -= opens(p[-1]);
        if (depth == 0 && p[-1] == ' ')
            return p;
    }
    return text;
}

static char *cpp_name(const char *mangled)
{
    char *text = demangle(mangled);
    if (!text)
        return NULL;
    cut_parameters(text);
    const char *name = skip_return_type(text);
    memmove(text, name, strlen(name) + 1);
    return text;
}

static char *join_module(const char *module, size_t module_bytes, const char *procedure,
                         size_t procedure_bytes)
{
    if (module_bytes == 0 || procedure_bytes == 0)
        return NULL;
    char *text = malloc(module_bytes + procedure_bytes + 3);
    if (!text)
        return NULL;
    memcpy(text, module, module_bytes);
    memcpy(text + module_bytes, "::", 2);
    memcpy(text + module_bytes + 2, procedure, procedure_bytes);
    text[module_bytes + 2 + procedure_bytes] = '\0';
    return text;
}

/* gfortran: __module_MOD_procedure; LLVM flang: _QMmodulePprocedure (names in lower case, so that a capital
 * letter ends one). NULL when it is neither. */
static char *fortran_name(const char *linkage)
{
    if (linkage[0] == '_' && linkage[1] == '_') {
        const char *mark = strstr(linkage + 2, "_MOD_");
        if (mark)
            return join_module(linkage + 2, (size_t)(mark - linkage - 2), mark + 5, strcspn(mark + 5, "."));
    }
    if (strncmp(linkage, "_QM", 3) == 0) {
        const char *module = linkage + 3;
        const char *mark = strrchr(module, 'P');
        if (mark)
            return join_module(module, strcspn(module, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), mark + 1,
                               strcspn(mark + 1, "."));
    }
    return NULL;
}

/* Bytes before the suffix of a compiler-made copy; a leading dot belongs to the name. */
static size_t plain_bytes(const char *name)
{
    return name[0] == '.' ? strlen(name) : strcspn(name, ".");
}

/* What Cython makes of mpi4py.MPI.Comm.recv: __pyx_pw_6mpi4py_3MPI_4Comm_123recv (of functions that Python
 * calls with a number ahead of the name), and __pyx_f_6mpi4py_3MPI_PyMPI_recv. NULL when it is neither. */
static const char *cython_scope(const char *symbol, bool *is_numbered)
{
    static const char *const prefixes[] = {"__pyx_pw_", "__pyx_pf_", "__pyx_gb_", "__pyx_f_", NULL};
    for (const char *const *prefix = prefixes; *prefix; prefix++)
        if (strncmp(symbol, *prefix, strlen(*prefix)) == 0) {
            *is_numbered = prefix[1] != NULL;
            return symbol + strlen(*prefix);
        }
    return NULL;
}

static char *cython_name(const char *symbol)
{
    bool is_numbered = false;
    const char *at = cython_scope(symbol, &is_numbered);
    char *text = at && isdigit((unsigned char)*at) ? malloc(strlen(at) + 1) : NULL, *end = text;
    while (text && isdigit((unsigned char)*at)) {
        char *rest;
        unsigned long bytes = strtoul(at, &rest, 10);
        at = rest;
        if (bytes == 0 || bytes >= strlen(rest) || rest[bytes] != '_' ||
            (is_numbered && !isdigit((unsigned char)rest[bytes + 1])))
            break; /* a number, and the last name */
        memcpy(end, rest, bytes);
        end += bytes;
        *end++ = '.';
        at = rest + bytes + 1;
    }
    size_t bytes = text ? plain_bytes(at) : 0;
    if (bytes == 0 || end == text) {
        free(text);
        return NULL;
    }
    memcpy(end, at, bytes);
    end[bytes] = '\0';
    return text;
}

static bool is_fortran_external(const char *symbol, size_t bytes)
{
    if (bytes < 2 || symbol[0] == '_' || symbol[bytes - 1] != '_' || symbol[bytes - 2] == '_')
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (isupper((unsigned char)symbol[i]))
            return false;
    return true;
}

char *gn_name_of_symbol(const char *symbol)
{
    char *name = fortran_name(symbol);
    if (!name)
        name = cython_name(symbol);
    if (name)
        return name;
    size_t bytes = plain_bytes(symbol);
    char *plain = strndup(symbol, bytes);
    if (!plain)
        return NULL;
    name = cpp_name(plain);
    if (name) {
        free(plain);
        return name;
    }
    if (is_fortran_external(plain, bytes))
        plain[bytes - 1] = '\0';
    return plain;
}

char *gn_name_of_function(const char *name, const char *linkage)
{
    char *result = linkage ? fortran_name(linkage) : NULL;
    if (!result && linkage && strncmp(linkage, "_Z", 2) == 0)
        result = gn_name_of_symbol(linkage);
    if (!result)
        result = cython_name(name);
    return result ? result : strndup(name, plain_bytes(name));
}

static bool starts_with_any(const char *symbol, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncasecmp(symbol, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

bool gn_name_is_mpi(const char *symbol)
{
    static const char *const prefixes[] = {"MPI_", "PMPI_", "MPIX_", "PMPIX_", NULL};
    return starts_with_any(symbol, prefixes);
}

bool gn_name_is_measured(const char *symbol)
{
    char name[64];
    size_t length = strlen(symbol);
    if (strncasecmp(symbol, "MPI_", 4) != 0 || length >= sizeof name)
        return false;
    memcpy(name, symbol, length + 1);
    while (name[length - 1] == '_') /* as Fortran compilers have it */
        name[--length] = '\0';
    static const char *const endings[] = {"_f08ts", "_f08", "_fts"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t bytes = strlen(endings[i]);
        if (length > bytes && strcasecmp(name + length - bytes, endings[i]) == 0)
            name[length -= bytes] = '\0';
    }
    return gn_activity_named(name) != GN_ACTIVITY_NONE;
}

bool gn_name_returns_twice(const char *symbol)
{
    static const char *const names[] = {"setjmp", "_setjmp", "sigsetjmp",  "__sigsetjmp",
                                        "vfork",  "savectx", "getcontext", NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(symbol, names[i]) == 0)
            return true;
    return false;
}

bool gn_name_is_noreturn(const char *symbol)
{
    static const char *const names[] = {"exit",
                                        "_exit",
                                        "_Exit",
                                        "abort",
                                        "longjmp",
                                        "_longjmp",
                                        "siglongjmp",
                                        "__longjmp_chk",
                                        "pthread_exit",
                                        "__chk_fail",
                                        "__assert_fail",
                                        "__stack_chk_fail",
                                        "__cxa_throw",
                                        "__cxa_rethrow",
                                        "__cxa_bad_cast",
                                        "_Unwind_Resume",
                                        "_ZSt9terminatev",
                                        "MPI_Abort",
                                        "mpi_abort_",
                                        NULL};
    static const char *const prefixes[] = {"_gfortran_stop_", "_gfortran_error_stop",
                                           "_gfortran_runtime_error", "_gfortran_os_error", NULL};
    for (const char *const *name = names; *name; name++)
        if (strcmp(symbol, *name) == 0)
            return true;
    bool std_throw = strncmp(symbol, "_ZSt", 4) == 0 && strstr(symbol, "__throw_");
    return std_throw || starts_with_any(symbol, prefixes);
}

bool gn_name_is_region_mark(const char *function)
{
    static const char *const names[] = {"gnomon_region_begin", "gnomon_region_end", "gnomon_region_begin_id",
                                        "gnomon_region_end_id", "gnomon_call_", "gnomon_call_id_",
                                        /* a symbol's underscore is taken for Fortran's */
                                        "gnomon_call", "gnomon_call_id", NULL};
    for (const char *const *name = names; function && *name; name++)
        if (strcmp(function, *name) == 0)
            return true;
    return false;
}
