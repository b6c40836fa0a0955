/* profile/schema — the tables of a profile. */
#ifndef GNOMON_PROFILE_SCHEMA_H
#define GNOMON_PROFILE_SCHEMA_H

extern const char gn_profile_schema[];

#endif
