"""Makes container images without a registry: one layer with the static busybox of this machine, in docker-save form."""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

IMAGE = "refloat.test/busybox:1"
"""The image for pods: a shell and busybox's tools. It is on the node already and cannot be pulled."""
PAUSE_IMAGE = "refloat.test/pause:1"
# The process that keeps a pod's sandbox; it is ended with SIGKILL, so it need not listen to anything.
PAUSE_COMMAND = ["/bin/busybox", "sleep", "2147483647"]


def write_images(archive: Path) -> None:
    """Writes both images into one archive that `ctr images import` takes."""
    layer = _layer()
    layer_name = "layer.tar"
    digest = f"sha256:{hashlib.sha256(layer).hexdigest()}"
    files = {layer_name: layer}
    manifest = []
    for tag, config in ((IMAGE, {"Cmd": ["/bin/sh"]}), (PAUSE_IMAGE, {"Entrypoint": PAUSE_COMMAND})):
        document = {
            "architecture": "amd64",
            "os": "linux",
            "config": config | {"Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [digest]},
        }
        name = f"{tag.rpartition('/')[2].partition(':')[0]}.json"
        files[name] = json.dumps(document).encode()
        manifest.append({"Config": name, "RepoTags": [tag], "Layers": [layer_name]})
    files["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(archive, "w") as tar:
        for name, content in files.items():
            _add(tar, name, content)


def _layer() -> bytes:
    busybox = shutil.which("busybox")
    assert busybox, "busybox-static is not installed"
    applets = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder, mode in (("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777)):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        _add(tar, "bin/busybox", Path(busybox).read_bytes(), 0o755)
        _add(tar, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
        for applet in applets:
            if applet != "busybox":
                link = tarfile.TarInfo(f"bin/{applet}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))
