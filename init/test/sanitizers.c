// Init runs without an environment, so the sanitizers' options are compiled in.
// Its stderr is /dev/null: a finding shows as exit status 99.
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0:exitcode=99:handle_segv=0";
}

const char *__ubsan_default_options(void)
{
	return "exitcode=99";
}
