"""Importing this mends how the otf2 module reads intercommunicators."""
import otf2

second_groups = {}  # of intercommunicators


def construct_inter_comm(cls, registry, ref, name, group_a, group_b, parent, flags):
    """python3-otf2 3.0.2 takes each field of an intercommunicator for another one."""
    comm = otf2.definitions.Comm(registry._registry_for_type(cls), ref,
                                 registry._get(otf2.definitions.String, name),
                                 registry._get(otf2.definitions.Group, group_a))
    second_groups[comm] = registry._get(otf2.definitions.Group, group_b)
    return comm


otf2.definitions.InterComm._construct = classmethod(construct_inter_comm)
