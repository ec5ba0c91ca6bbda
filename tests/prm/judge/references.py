#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes C files that say what the installed headers say of the rows that prm/ gave.

Usage: references.py KERNEL_DIR VERBS_DIR STRUCTS_PY OUT_DIR ROWS.tsv.. . Headers that a program
can include are included and asked by offsetof and sizeof; of the kernel's internal ones the enums
and structs that are needed are cut out, at build time, and compiled by themselves. Nothing of a
header stands in this repository. STRUCTS_PY is rdma-core's tests/mlx5_prm_structs.py, plain or
.gz: it names the DevX fields that Linux keeps reserved.
"""
import gzip
import pathlib
import re
import sys

# Where the constants are looked for: every header that has the name must agree.
INCLUDED = ["mlx5_ifc.h"]
CUT = ["device.h", "qp.h", "cq.h", "driver.h", "eq.h", "doorbell.h", "vport.h",
       "ib_smi.h", "ib_mad.h", "ib_pma.h"]
VERBS = ["mlx5dv.h", "verbs.h", "tm_types.h"]
RDMA = ["ib_smi.h", "ib_mad.h", "ib_pma.h"]
FOLDERS = {name: "../../rdma" for name in RDMA}  # seen from KERNEL_DIR, include/linux/mlx5

# Layouts that are C structs: layout -> [(header, struct)]. All others are mlx5_ifc_NAME_bits.
STRUCTS = {
    "mlx5_init_seg": [("device.h", "mlx5_init_seg")],
    "mlx5_health_buffer": [("device.h", "health_buffer")],
    "mlx5_eqe_page_req": [("device.h", "mlx5_eqe_page_req")],
    "mlx5_eqe_sync_fw_update": [("device.h", "mlx5_eqe_sync_fw_update")],
    "mlx5_cqe64": [("mlx5dv.h", "mlx5_cqe64")],
    "mlx5_err_cqe": [("mlx5dv.h", "mlx5_err_cqe"), ("device.h", "mlx5_err_cqe")],
    "mlx5_wqe_ctrl_seg": [("mlx5dv.h", "mlx5_wqe_ctrl_seg")],
    "mlx5_wqe_av": [("mlx5dv.h", "mlx5_wqe_av"), ("qp.h", "mlx5_av")],
    "mlx5_wqe_xrc_seg": [("qp.h", "mlx5_wqe_xrc_seg")],
    "mlx5_wqe_raddr_seg": [("mlx5dv.h", "mlx5_wqe_raddr_seg"), ("qp.h", "mlx5_wqe_raddr_seg")],
    "mlx5_wqe_data_seg": [("mlx5dv.h", "mlx5_wqe_data_seg"), ("qp.h", "mlx5_wqe_data_seg")],
    "mlx5_wqe_srq_next_seg": [("mlx5dv.h", "mlx5_wqe_srq_next_seg")],
    "mlx5_wqe_inl_data_seg": [("mlx5dv.h", "mlx5_wqe_inl_data_seg")],
    "mlx5_wqe_atomic_seg": [("mlx5dv.h", "mlx5_wqe_atomic_seg")],
    "mlx5_wqe_umr_ctrl_seg": [("mlx5dv.h", "mlx5_wqe_umr_ctrl_seg")],
    "mlx5_wqe_mkey_context_seg": [("mlx5dv.h", "mlx5_wqe_mkey_context_seg")],
    "mlx5_wqe_eth_seg": [("qp.h", "mlx5_wqe_eth_seg")],
    "mlx5_ethernet_cqe": [("device.h", "mlx5_cqe64")],
    "mlx5_mini_cqe8": [("device.h", "mlx5_mini_cqe8")],
    "mlx5_klm": [("qp.h", "mlx5_klm")],
    "mlx5_stride_block_ctrl_seg": [("qp.h", "mlx5_stride_block_ctrl_seg")],
    "mlx5_stride_block_entry": [("qp.h", "mlx5_stride_block_entry")],
    "mlx5_bsf_inl": [("qp.h", "mlx5_bsf_inl")],
    "mlx5_bsf": [("qp.h", "mlx5_bsf")],
    "mlx5_seg_set_psv": [("qp.h", "mlx5_seg_set_psv")],
    "mlx5_sig_err_cqe": [("device.h", "mlx5_sig_err_cqe")],
    "mlx5_wqe_tm_seg": [("mlx5dv.h", "mlx5_wqe_tm_seg")],
    "mlx5_tm_cqe": [("mlx5dv.h", "mlx5_tm_cqe")],
    "ibv_tmh": [("tm_types.h", "ibv_tmh")],
    "ibv_rvh": [("tm_types.h", "ibv_rvh")],
    "ib_smp": [("ib_smi.h", "ib_smp")],
    "ib_port_info": [("ib_smi.h", "ib_port_info")],
    "ib_node_info": [("ib_smi.h", "ib_node_info")],
    "ib_class_port_info": [("ib_mad.h", "ib_class_port_info")],
    "ib_pma_portcounters": [("ib_pma.h", "ib_pma_portcounters")],
    "ib_pma_portcounters_ext": [("ib_pma.h", "ib_pma_portcounters_ext")],
}

# Fields that a C struct keeps in one byte, first bits first: (struct, member) -> (name, width)s.
# The header gives the widths in a comment behind each member.
SHARED = {
    ("ib_port_info", "linkspeed_portstate"): [("link_speed_supported", 4), ("port_state", 4)],
    ("ib_port_info", "portphysstate_linkdown"): [
        ("port_physical_state", 4), ("link_down_default", 4)],
    ("ib_port_info", "mkeyprot_resv_lmc"): [("mkey_protection", 2), (None, 3), ("lmc", 3)],
    ("ib_port_info", "linkspeedactive_enabled"): [
        ("link_speed_active", 4), ("link_speed_enabled", 4)],
    ("ib_port_info", "neighbormtu_mastersmsl"): [("neighbor_mtu", 4), ("master_sm_sl", 4)],
    ("ib_port_info", "vlcap_inittype"): [("vl_cap", 4), ("init_type", 4)],
    ("ib_port_info", "inittypereply_mtucap"): [("init_type_reply", 4), ("mtu_cap", 4)],
    ("ib_port_info", "vlstallcnt_hoqlife"): [("vl_stall_count", 3), ("hoq_life", 5)],
    ("ib_port_info", "operationalvl_pei_peo_fpi_fpo"): [
        ("operational_vls", 4), ("enforcement", 4)],
    ("ib_port_info", "clientrereg_resv_subnetto"): [
        ("client_reregister", 1), (None, 2), ("subnet_timeout", 5)],
    ("ib_port_info", "resv_resptimevalue"): [(None, 3), ("resp_time_value", 5)],
    ("ib_port_info", "localphyerrors_overrunerrors"): [
        ("local_phy_errors", 4), ("overrun_errors", 4)],
}
# Fields under another name than the header's, where it does not have ours.
BSF_PARTS = {
    "basic": {"bsf_size_sbs": "bsf_size_sbs", "check_byte_mask": "check_byte_mask",
              "wire_selector": "wire.bs_selector", "mem_selector": "mem.bs_selector",
              "raw_data_size": "raw_data_size", "w_bfs_psv": "w_bfs_psv",
              "m_bfs_psv": "m_bfs_psv"},
    "ext": {name: name for name in ("t_init_gen_pro_size", "rsvd_epi_size", "w_tfs_psv",
                                    "m_tfs_psv")}}
RENAMED = {("mlx5_bsf", ours): f"{part}.{theirs}"
           for part, members in BSF_PARTS.items() for ours, theirs in members.items()}
RENAMED |= {("ib_node_info", "system_image_guid"): "sys_guid",
            ("mlx5_wqe_eth_seg", "inline_hdr_sz"): "inline_hdr.sz",
            ("mlx5_wqe_eth_seg", "inline_hdr_start"): "inline_hdr.start",
            ("cmd_hca_cap", "relaxed_ordering_read_pci_enabled"): "relaxed_ordering_read"}
# Fields that Linux after 6.1 has inside of another member: used where the header has that member.
MOVED = {("general_obj_in_cmd_hdr", "log_obj_range"): "op_param.create.log_obj_range",
         ("flow_table_context", "sw_owner_icm_root_1"): "sws.sw_owner_icm_root_1",
         ("flow_table_context", "sw_owner_icm_root_0"): "sws.sw_owner_icm_root_0"}
# What Linux 6.8 or 6.12 puts elsewhere than 6.1: our key -> (ours, theirs), as the judge has both.
# Fields of one bit more and a longer answer; and the capability that 6.1 has at another bit, which
# nothing here reads or offers.
LATER = {"cmd_hca_cap shampo": ((186, 1), (683, 1)),
         "mkc log_page_size": ((475, 5), (474, 6)),
         "create_mkey_in memory_key_mkey_entry.log_page_size": ((603, 5), (602, 6)),
         "query_mkey_out memory_key_mkey_entry.log_page_size": ((603, 5), (602, 6)),
         "ppcnt_reg prio_tc": ((61, 3), (59, 5)),
         "sizeof query_qp_out": ((2176, 0), (3712, 0))}
# Fields that no header names, or only a later one; the layout says where they were read.
UNNAMED = {"cmd_hca_cap": ["relaxed_ordering_read", "sigerr_domain_and_sig_type"],
           "mlx5_sig_err_cqe": ["sig_type", "domain"],
           "wq": ["dbr_umem_id", "wq_umem_id", "wq_umem_offset"],
           "rts2rts_qp_in": ["opt_param_mask_95_32"],
           "ib_port_info": ["cap_mask2", "link_speed_ext_active", "link_speed_ext_supported",
                            "link_speed_ext_enabled"]}
# Layouts of the kernel's that no package installs: entries of steering. The file says where they
# were read.
UNINSTALLED = re.compile(r"ste_\w+|dr_action_hw_\w+")
# Layouts that mlx5_ifc.h of Linux 6.1 has not and that of 6.8 has: judged where they are there.
NEWER_LAYOUTS = {"mtcap_reg", "mtmp_reg"}

# Fields of bit layouts that the kernel's C structs name too, as whole bytes: a second opinion.
ALSO = {
    ("cmd_queue_entry", "device.h", "mlx5_cmd_layout"): {
        "type": "type", "input_length": "inlen", "command_input_inline_data": "in",
        "command_output_inline_data": "out", "output_length": "outlen", "token": "token",
        "signature": "sig"},
    ("cmd_if_box", "device.h", "mlx5_cmd_prot_block"): {
        "mailbox_data": "data", "block_number": "block_num", "token": "token",
        "ctrl_signature": "ctrl_sig", "signature": "sig"},
    ("eqe", "device.h", "mlx5_eqe"): {
        "event_type": "type", "event_sub_type": "sub_type", "event_data": "data",
        "signature": "signature"},
    ("mlx5_wqe_umr_ctrl_seg", "qp.h", "mlx5_wqe_umr_ctrl_seg"): {
        "flags": "flags", "klm_octowords": "xlt_octowords", "translation_offset": "xlt_offset",
        "mkey_mask": "mkey_mask"},
    ("mlx5_wqe_mkey_context_seg", "device.h", "mlx5_mkey_seg"): {
        "free": "status", "access_flags": "flags", "qpn_mkey": "qpn_mkey7_0",
        "flags_pd": "flags_pd", "start_addr": "start_addr", "len": "len",
        "bsf_octword_size": "bsfs_octo_size", "translations_octword_size": "xlt_oct_size",
        "log_page_size": "log2_page_size"},
}

# Fields that mlx5_ifc.h keeps reserved: layout -> (class of STRUCTS_PY, our field -> its field).
DEVX = {
    "cqc": ("SwCqc", {"dbr_umem_id": "dbr_umem_id"}),
    "create_cq_in": ("CreateCqIn", {"cq_umem_offset": "e_mtt_pointer_or_cq_umem_offset",
                                    "cq_umem_id": "cq_umem_id"}),
    "create_mkey_in": ("CreateMkeyIn", {"mkey_umem_id": "mkey_umem_id",
                                        "mkey_umem_offset": "mkey_umem_offset"}),
    "cmd_hca_cap": ("CmdHcaCap", {"rts2rts_qp_udp_sport": "rts2rts_udp_sport"}),
    "qpc": ("SwQpc", {"dbr_umem_id": "dbr_umem_id"}),
    "create_qp_in": ("CreateQpIn", {"wq_umem_offset": "e_mtt_pointer_or_wq_umem_offset",
                                    "wq_umem_id": "wq_umem_id"}),
}
# How layouts that hold one of these as a whole call it.
DEVX_INSIDE = {"cq_context": "cqc", "qpc": "qpc"}
SCAPY_BITS = {"ByteField": 8, "ShortField": 16, "IntField": 32, "LongField": 64, "MACField": 48}

PRELUDE = """#include <stddef.h>
#include <stdint.h>
#include "tests/prm/judge/judge.h"
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
"""
KERNEL_WORDS = """typedef uint16_t __be16; typedef uint32_t __be32; typedef uint64_t __be64;
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define __packed __attribute__((packed))
#define DECLARE_FLEX_ARRAY(type, name) struct {} name##_start; type name[0]
"""


class Header:
    def __init__(self, path):
        self.name = path.name
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        self.text = re.sub(r"//[^\n]*", "", text)
        self.enum_of = {}
        for block in re.finditer(r"\benum\s*\w*\s*\{([^{}]*)\}\s*;", self.text):
            for name in re.findall(r"(?:^|,)\s*(\w+)\s*(?==|,|$)", block.group(1).strip()):
                self.enum_of.setdefault(name, block.group(0))
        self.define_of = {m.group(1): m.group(0)
                          for m in re.finditer(r"^#define (\w+)[ \t]+[^\n\\]+$", self.text, re.M)}

    def has(self, name):
        return name in self.enum_of or name in self.define_of

    def has_struct(self, name):
        return re.search(rf"\bstruct {name}\s*\{{", self.text) is not None

    def struct(self, name):
        start = re.search(rf"\bstruct {name}\s*\{{", self.text)
        if start is None:
            sys.exit(f"{self.name} has no struct {name}")
        depth, at = 1, start.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(self.text[at], 0)
            at += 1
        return self.text[start.start():self.text.index(";", at) + 1]

    def with_needs(self, names, structs):
        """Text of the enums, defines and structs named, with what those structs refer to."""
        blocks = {}

        def add_name(name):
            blocks.setdefault(self.enum_of.get(name) or self.define_of[name])

        def add_struct(name):
            body = self.struct(name)
            for word in re.findall(r"\w+", body):
                if self.has(word):
                    add_name(word)
            for kind, inner in re.findall(r"\b(struct|union) (\w+)\s+\w+", body):
                add_struct(inner) if kind == "struct" else add_union(inner)
            blocks.setdefault(body)

        def add_union(name):
            body = re.search(rf"\bunion {name} \{{[^{{}}]*\}}[^;]*;", self.text).group(0)
            for inner in re.findall(r"\bstruct (\w+)\s+\w+", body):
                add_struct(inner)
            blocks.setdefault(body)

        for name in names:
            add_name(name)
        for name in structs:
            add_struct(name)
        return "\n".join(blocks)


class Structs:
    """Packet classes of STRUCTS_PY: where each field stands, in bits, counted from its text."""

    def __init__(self, path):
        opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
        with opened as file:
            self.text = file.read()
        self.name = path.name.removesuffix(".gz")

    def fields(self, packet):
        """field -> (offset, width), and the sum of all."""
        start = self.text.index(f"class {packet}(")
        end = self.text.find("\nclass ", start)
        body = self.text[start:end]
        places, at = {}, 0
        for kind, name, rest in re.findall(r"(\w+Field)\('(\w+)',?\s*([^\n]*)", body):
            if kind == "PacketListField":
                break
            width = self.width(kind, rest)
            places[name] = (at, width)
            at += width
        return places, at

    def width(self, kind, rest):
        if kind == "BitField":
            return int(re.search(r"(\d+)\),?$", rest).group(1))
        if kind == "StrFixedLenField":
            return 8 * int(re.search(r"length=(\d+)", rest).group(1))
        if kind == "PacketField":
            return self.fields(re.search(r"(\w+)\),?$", rest).group(1))[1]
        if kind == "FieldListField":
            count, inner = re.search(r"range\((\d+)\)\], (\w+)", rest).groups()
            return int(count) * SCAPY_BITS[inner]
        return SCAPY_BITS[kind]


def devx_rows(structs, layout, fields):
    """Rows for those of `fields` that stand in DEVX, and the fields that do not."""
    rows, others = [], []
    for field in fields:
        outer, _, last = field.rpartition(".")
        packet, members = DEVX.get(DEVX_INSIDE.get(outer, layout if not outer else ""), ("", {}))
        if last not in members:
            others.append(field)
            continue
        offset, width = structs.fields(packet)[0][members[last]]
        base = f"offsetof(struct mlx5_ifc_{layout}_bits, {outer}) + " if outer else ""
        rows.append(f'{{"{structs.name}", "{layout} {field}", {base}{offset}, {width}}}')
    return rows, others


def read_rows(paths):
    fields, constants = [], []
    for path in paths:
        for line in pathlib.Path(path).read_text().splitlines():
            columns = line.split("\t")
            (fields if len(columns) == 4 else constants).append(columns)
    return fields, constants


def member_rows(header, layout, struct, members):
    """members: our field -> the header's; in bytes, so times 8."""
    rows = [f'{{"{header}", "{layout} {ours}", 8 * offsetof(struct {struct}, {theirs}), '
            f"8 * sizeof(((struct {struct} *)0)->{theirs})}}" for ours, theirs in members.items()]
    return rows + [f'{{"{header}", "sizeof {layout}", 8 * sizeof(struct {struct}), 0}}']


def struct_rows(header, layout, struct, fields):
    """Rows of a C struct for all of our fields: whole members, parts of a byte, and unnamed."""
    rows, whole = [], {n: RENAMED.get((struct, n), n) for n in fields}
    for (owner, member), parts in SHARED.items():
        at = 0
        for part, width in parts if owner == struct else []:
            if part:
                rows.append(f'{{"{header}", "{layout} {part}", '
                            f"8 * offsetof(struct {struct}, {member}) + {at}, {width}}}")
            whole.pop(part, None)
            at += width
    for field in UNNAMED.get(layout, []):
        rows.append(f'{{"", "{layout} {field}", 0, 0}}')
        whole.pop(field, None)
    return rows + member_rows(header, layout, struct, whole)


def innermost(layout, field):
    """The layout that has the last part of `field`, which others hold as a whole, and that part."""
    outer, _, last = field.rpartition(".")
    return outer.rpartition(".")[2] if outer else layout, last


def is_unnamed(header, layout, field):
    """Also where the header has such a name for what is another field of ours."""
    inside, last = innermost(layout, field)
    if last not in UNNAMED.get(inside, []):
        return False
    members = named_members(header, inside)
    taken = [theirs for (owner, ours), theirs in RENAMED.items()
             if owner == inside and ours not in members]
    return last not in members or last in taken


def name_in(header, layout, field):
    """What the header calls our field: its path from the struct of `layout`."""
    inside, last = innermost(layout, field)
    moved = MOVED.get((inside, last), "")
    if moved and moved.partition(".")[0] in named_members(header, inside):
        return field.removesuffix(last) + moved
    renamed = RENAMED.get((inside, last), last)
    if renamed != last and last not in named_members(header, inside):
        return field.removesuffix(last) + renamed
    return field


def uninstalled_rows(layout, fields):
    return [f'{{"", "{key}", 0, 0}}'
            for key in [f"sizeof {layout}", *(f"{layout} {field}" for field in fields)]]


def bit_rows(header, layout, fields):
    struct = f"struct mlx5_ifc_{layout}_bits"
    unnamed = [field for field in fields if is_unnamed(header, layout, field)]
    named = {f: name_in(header, layout, f) for f in fields if f not in unnamed}
    rows = [f'{{"", "{layout} {f}", 0, 0}}' for f in unnamed]
    rows += [f'{{"mlx5_ifc.h", "{layout} {ours}", offsetof({struct}, {theirs}), '
             f"sizeof((({struct} *)0)->{theirs})}}" for ours, theirs in named.items()]
    return rows + [f'{{"mlx5_ifc.h", "sizeof {layout}", sizeof({struct}), 0}}']


def named_members(header, layout):
    """Members of a bit layout that are neither reserved nor of open length.

    Of a union with a name, the name: what stands in it is reached through that.
    """
    text = re.sub(r"\bunion \{[^{}]*\} (?=\w)", "", header.struct(f"mlx5_ifc_{layout}_bits"))
    found = re.findall(r"(\w+)((?:\[\w*\])*);", text)
    return [name for name, dimensions in found
            if not name.startswith("reserved") and not dimensions.startswith("[]")]


def symbol_of(header):
    return "references_" + header.replace(".", "_")


def index_of(symbols, required):
    """The file that brings the tables of all headers together, and LATER."""
    lines = ['#include "tests/prm/judge/judge.h"']
    lines += [f"extern const struct reference {symbol}[];" for symbol in symbols]
    lines.append("const struct reference *const references[] = {")
    lines += [f"  {symbol}," for symbol in symbols]
    lines += ["  0};", "const char *const required[] = {"]
    lines += [f'  "{member}",' for member in required]
    lines += ["  0};", "const struct later_linux later[] = {"]
    lines += [f'  {{"{key}", {{{ours[0]}, {ours[1]}}}, {{{theirs[0]}, {theirs[1]}}}}},'
              for key, (ours, theirs) in LATER.items()]
    return "\n".join([*lines, "  {0, {0, 0}, {0, 0}}};", ""])


def main(kernel_dir, verbs_dir, structs_py, out_dir, *row_files):
    kernel, verbs, out = map(pathlib.Path, (kernel_dir, verbs_dir, out_dir))
    devx = Structs(pathlib.Path(structs_py))
    headers = {n: Header(kernel / FOLDERS.get(n, ".") / n) for n in INCLUDED + CUT}
    headers |= {n: Header(verbs / n) for n in VERBS}
    fields, constants = read_rows(row_files)
    fields_of = {}
    for layout, field, _, _ in fields:
        fields_of.setdefault(layout, []).append(field)

    newer = set(pathlib.Path(__file__).with_name("newer_members.txt").read_text().splitlines())
    rows = {name: [] for name in headers}
    structs = {name: set() for name in headers}
    required = []
    for layout, names in fields_of.items():
        for header, struct in STRUCTS.get(layout, []):
            rows[header] += struct_rows(header, layout, struct, names)
            structs[header].add(struct)
        is_missing = (layout in NEWER_LAYOUTS and
                      not headers["mlx5_ifc.h"].has_struct(f"mlx5_ifc_{layout}_bits"))
        if UNINSTALLED.fullmatch(layout) or is_missing:
            rows["mlx5_ifc.h"] += uninstalled_rows(layout, names)
        elif layout not in STRUCTS:
            of_devx, names = devx_rows(devx, layout, names)
            rows["mlx5_ifc.h"] += bit_rows(headers["mlx5_ifc.h"], layout, names) + of_devx
            required += [f"{layout} {m}" for m in named_members(headers["mlx5_ifc.h"], layout)
                         if f"{layout} {m}" not in newer]
    for (layout, header, struct), members in ALSO.items():
        rows[header] += member_rows(header, layout, struct, members)
        structs[header].add(struct)

    wanted = [c[0] for c in constants if " " not in c[0]]
    for name, header in headers.items():
        mine = [w for w in wanted if header.has(w)]
        rows[name] += [f'{{"{name}", "{w}", (unsigned long long){w}, 0}}' for w in mine]
        if name in CUT:
            text = KERNEL_WORDS + header.with_needs(mine, sorted(structs[name]))
        elif name in INCLUDED:
            text = KERNEL_WORDS + f'#include "{name}"'
        else:
            text = f"#include <infiniband/{name}>"
        table = f"const struct reference {symbol_of(name)}[] = {{\n"
        table += "".join(f"  {row},\n" for row in rows[name]) + "  {0, 0, 0, 0}};\n"
        (out / f"{symbol_of(name)}.c").write_text(f"{PRELUDE}{text}\n{table}")
    (out / "references.c").write_text(index_of([symbol_of(n) for n in headers], required))


main(*sys.argv[1:])
