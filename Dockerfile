FROM python:3.12-slim

COPY pyproject.toml README.md LICENSE /cutaway/
COPY src /cutaway/src
RUN pip install --no-cache-dir '/cutaway[local,postgres,serve]' \
    && useradd --create-home --uid 1000 cutaway \
    && mkdir /home/cutaway/index && chown cutaway /home/cutaway/index

USER cutaway
ENV CUTAWAY_HOME=/home/cutaway/index PYTHONUNBUFFERED=1
ENTRYPOINT ["cutaway"]
CMD ["--help"]
