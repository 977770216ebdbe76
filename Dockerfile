# One image for every process; which one runs is the service's command in docker-compose.yml.
# BASE_IMAGE may be any Debian 12 (or later) root file system: the default is pulled, another can be made by debootstrap.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE}

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      python3 python3-venv ca-certificates iproute2 iptables procps \
      etcd-server etcd-client containerd runc containernetworking-plugins busybox-static docker-registry \
 && rm -rf /var/lib/apt/lists/*

# The dependencies change less often than the code: a layer of their own
WORKDIR /opt/armillary
COPY pyproject.toml hatch_build.py README.md LICENSE ./
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/python -c "import tomllib; print('\n'.join(tomllib.load(open('pyproject.toml','rb'))['project']['dependencies']))" \
      > /tmp/requirements.txt \
 && /opt/venv/bin/pip install --no-cache-dir -r /tmp/requirements.txt

COPY apimachinery apimachinery
COPY client client
COPY apiserver apiserver
COPY controllers controllers
COPY scheduler scheduler
COPY kubelet kubelet
COPY minictl minictl
COPY certs certs
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps .

ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1
