/* cli/commands — the subcommands; each parses, calls and prints, and returns the exit status: 0 fine, 1 found
 * a problem or failed, 2 bad usage or bad input. */
#ifndef GNOMON_CLI_COMMANDS_H
#define GNOMON_CLI_COMMANDS_H

int gn_command_run(int argc, char **argv);
int gn_command_agent(int argc, char **argv);
int gn_command_guard(int argc, char **argv);
int gn_command_after_run(int argc, char **argv);
int gn_command_activities(int argc, char **argv);
int gn_command_report(int argc, char **argv);
int gn_command_merge(int argc, char **argv);
int gn_command_order(int argc, char **argv);
int gn_command_structure(int argc, char **argv);
int gn_command_sync(int argc, char **argv);
int gn_command_synth(int argc, char **argv);
int gn_command_doctor(int argc, char **argv);
int gn_command_export(int argc, char **argv);
int gn_command_stragglers(int argc, char **argv);
int gn_command_explain(int argc, char **argv);
int gn_command_paths(int argc, char **argv);
int gn_command_live(int argc, char **argv);
int gn_command_frames(int argc, char **argv);
int gn_command_check(int argc, char **argv);
int gn_command_whatif(int argc, char **argv);
int gn_command_critical(int argc, char **argv);
int gn_command_clock(int argc, char **argv);
int gn_command_clock_wait(int argc, char **argv);

#endif
