"""Schemas as people write them, by family: configuration files, manifests, resources, tools, records, meta-schemas.

They are spelled with small constructors, and have the habits of the wild: unknown keywords and formats, old drafts,
references, overlapping branches, conditions, patterns for keys. `corpus()` gives them by name.
"""

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"

STRING = {"type": "string"}
TEXT = {"type": "string", "minLength": 1}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 0}
DATE = {"type": "string", "format": "date"}
TIME = {"type": "string", "format": "date-time"}
URL = {"type": "string", "format": "uri"}
EMAIL = {"type": "string", "format": "email"}
UUID = {"type": "string", "format": "uuid"}
MONEY = {"type": "number", "minimum": 0, "maximum": 1000000}


def ref(name, folder="$defs"):
    return {"$ref": f"#/{folder}/{name}"}


def one(*values):
    return {"enum": list(values)}


def text(pattern, **more):
    return {"type": "string", "pattern": pattern, **more}


def many(items, **more):
    return {"type": "array", "items": items, **more}


def mapping(values, **more):
    return {"type": "object", "additionalProperties": values, **more}


def record(required="", /, **properties):
    """An object with these properties; `required` names some, and `_` keys are keywords of the object."""
    keywords = {name[1:]: value for name, value in properties.items() if name.startswith("_")}
    own = {name: value for name, value in properties.items() if not name.startswith("_")}
    out = {"type": "object", "properties": own, **keywords}
    if required:
        out["required"] = required.split()
    return out


def closed(required="", /, **properties):
    return record(required, _additionalProperties=False, **properties)


def tagged(key, **variants):
    """Objects that are told apart by a constant."""
    return {"oneOf": [{**body, "properties": {key: {"const": tag}, **body["properties"]},
                       "required": [key, *body.get("required", [])]} for tag, body in variants.items()]}  # fmt: skip


def configurations():
    port = {"type": "integer", "minimum": 1, "maximum": 65535}
    level = one("trace", "debug", "info", "warn", "error")
    yield "server", closed("host port", host={"type": "string", "format": "hostname"}, port=port, tls=BOOLEAN,
                           log=record(level=level, file=STRING))
    yield "database", record("url", url=URL, pool=record(min=COUNT, max=COUNT, idleMs=COUNT), ssl={"type": ["boolean", "object"]},
                             replicas=many(URL, uniqueItems=True, maxItems=5))
    yield "eslint", record(root=BOOLEAN, env=mapping(BOOLEAN), extends={"oneOf": [STRING, many(STRING)]},
                           rules=mapping({"anyOf": [one("off", "warn", "error", 0, 1, 2), {"type": "array", "prefixItems": [one(0, 1, 2)]}]}),
                           overrides=many(record("files", files={"anyOf": [STRING, many(STRING)]})))
    yield "tsconfig", record(compilerOptions=record(target=one("es5", "es2015", "es2022", "esnext"), strict=BOOLEAN,
                             paths=mapping(many(STRING)), lib=many(one("dom", "es2022", "webworker"), uniqueItems=True)),
                             include=many(STRING), extends=STRING, _allowTrailingCommas=True)
    yield "prettier", closed(printWidth={"type": "integer", "default": 80, "minimum": 1}, semi=BOOLEAN, singleQuote=BOOLEAN,
                             trailingComma=one("none", "es5", "all"), endOfLine=one("lf", "crlf", "auto"))
    yield "editorconfig", {"type": "object", "patternProperties": {"^\\[.+\\]$": record(indent_style=one("tab", "space"),
                           indent_size={"anyOf": [INTEGER, one("tab")]})}, "properties": {"root": BOOLEAN}, "additionalProperties": False}
    yield "logging", record(version={"const": 1}, handlers=mapping(tagged("class", console=record(stream=STRING),
                            file=record("path", path=STRING, maxBytes=COUNT))), root=record(level=level, handlers=many(STRING)))
    yield "nginx", record("servers", servers=many(record("listen", listen={"oneOf": [port, text("^[0-9.]+:[0-9]{1,5}$")]},
                          locations=mapping(record(proxy_pass=URL, root=STRING, _minProperties=1))), minItems=1))
    yield "feature-flags", mapping({"oneOf": [BOOLEAN, record("percent", percent={"type": "number", "minimum": 0, "maximum": 100})]})
    yield "renovate", record(extends=many(STRING), schedule=many(STRING), packageRules=many(record(matchPackageNames=many(STRING),
                             enabled=BOOLEAN, groupName={"type": ["string", "null"]})), _markdownDescription="x")
    yield "dependabot", closed("version updates", version=one(2), updates=many(record("package-ecosystem directory",
                               **{"package-ecosystem": one("npm", "pip", "cargo"), "directory": STRING,
                                  "schedule": record("interval", interval=one("daily", "weekly", "monthly"))})))
    yield "babel", {"$schema": DRAFT7} | record(presets=many({"oneOf": [STRING, {"type": "array", "items": [STRING, {"type": "object"}], "maxItems": 2}]}),
                          env=mapping({"$ref": "#"}), _additionalProperties=False)
    yield "cron", record("jobs", jobs=mapping(record("schedule command", schedule=text("^(\\S+\\s){4}\\S+$"), command=TEXT,
                         timezone=STRING, retries={"type": "integer", "minimum": 0, "maximum": 10})))
    yield "alerts", record("rules", rules=many(record("expr for", expr=TEXT, **{"for": text("^[0-9]+(ms|s|m|h|d)$")},
                           labels=mapping(STRING), severity=one("page", "ticket"))))
    yield "i18n", {"type": "object", "patternProperties": {"^[a-z]{2}(-[A-Z]{2})?$": mapping(STRING)}, "additionalProperties": False}
    yield "theme", mapping({"oneOf": [text("^#([0-9a-fA-F]{3}){1,2}$"), {"$ref": "#"}]}, propertyNames={"pattern": "^[a-z][a-zA-Z0-9]*$"})
    yield "keyboard", many(record("key command", key=STRING, command=STRING, when=STRING, args={}))
    yield "proxy", record(mode=one("direct", "manual", "pac"), host=STRING, port=port, pac=URL, _allOf=[
        {"if": {"properties": {"mode": {"const": "manual"}}, "required": ["mode"]}, "then": {"required": ["host", "port"]}},
        {"if": {"properties": {"mode": {"const": "pac"}}, "required": ["mode"]}, "then": {"required": ["pac"]}}])
    yield "cache", {"$schema": DRAFT7} | record(ttl={"oneOf": [COUNT, text("^\\d+[smhd]$")]}, backend=one("memory", "redis"), redis=record("url", url=STRING),
                          _dependencies={"redis": ["backend"]})
    yield "backup", record("target", target={"anyOf": [record("bucket", bucket=TEXT), record("path", path=TEXT)]},
                           keep=record(daily=COUNT, weekly=COUNT, _minProperties=1, _additionalProperties=False))
    yield "sampling", {"$schema": DRAFT4, **record(rate={"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1})}
    yield "secrets", mapping({"type": "object", "oneOf": [{"required": ["value"]}, {"required": ["file"]}],
                              "properties": {"value": STRING, "file": STRING}, "additionalProperties": False})
    yield "mail", record("from", **{"from": EMAIL}, smtp=record("host", host=STRING, port=port), cc=many({**EMAIL, "maxLength": 254}))
    yield "window", closed(size={"type": "array", "prefixItems": [COUNT, COUNT], "items": False, "minItems": 2}, opacity={"type": "number", "minimum": 0, "maximum": 1})


def workflows():
    script = {"anyOf": [STRING, many(STRING)]}
    yield "github-workflow", record("on jobs", name=STRING, on={"oneOf": [one("push", "pull_request"), many(one("push", "pull_request")), {"type": "object"}]},
        env=mapping({"type": ["string", "number", "boolean"]}), jobs={"type": "object", "minProperties": 1, "patternProperties": {
            "^[_a-zA-Z][a-zA-Z0-9_-]*$": record("runs-on", **{"runs-on": {"anyOf": [STRING, many(STRING)]}},
            steps=many({"allOf": [{"oneOf": [{"required": ["uses"]}, {"required": ["run"]}]}, record(uses=STRING, run=STRING, with_=mapping(STRING), name=STRING)]}),
            needs={"anyOf": [STRING, many(STRING, minItems=1)]}, **{"timeout-minutes": {"type": "number"}})}, "additionalProperties": False})
    yield "gitlab-ci", {"type": "object", "properties": {"stages": many(STRING, uniqueItems=True), "image": {"oneOf": [STRING, record("name", name=STRING)]}},
        "additionalProperties": record(script=script, stage=STRING, when=one("on_success", "manual", "always"), retry={"oneOf": [{"type": "integer", "minimum": 0, "maximum": 2}, record(max=COUNT)]})}
    yield "action", record("name description runs", name=STRING, description=STRING, inputs={"type": "object", "patternProperties": {"^[_a-zA-Z][a-zA-Z0-9_-]*$":
        record("description", description=STRING, required=BOOLEAN, default={"type": ["string", "boolean", "number"]})}, "additionalProperties": False},
        runs=tagged("using", node20=record("main", main=STRING), composite=record("steps", steps=many({"type": "object"})), docker=record("image", image=STRING)))
    yield "circleci", record("version jobs", version={"enum": [2, 2.1, "2.1"]}, jobs=mapping(record(docker=many(record("image", image=STRING)), steps=many({"anyOf": [STRING, {"type": "object", "maxProperties": 1}]}))))
    yield "travis", record(language=STRING, matrix={"oneOf": [record(include=many({"type": "object"})), many({"type": "object"})]}, script=script, _pbj=1)
    yield "pre-commit", record("repos", repos=many({"type": "object", "properties": {"repo": STRING, "rev": STRING, "hooks": many(record("id", id=STRING, args=many(STRING)))},
        "required": ["repo"], "if": {"properties": {"repo": {"const": "local"}}}, "then": {"properties": {"rev": False}}, "else": {"required": ["rev"]}}))
    yield "state-machine", {"$ref": "#/$defs/machine", "$defs": {"machine": record("StartAt States", StartAt=TEXT, States=mapping(ref("state"))),
        "state": tagged("Type", Pass=record(Next=STRING, End=BOOLEAN), Wait=record("Seconds", Seconds=COUNT, Next=STRING),
                        Parallel=record("Branches", Branches=many(ref("machine"))), Fail=record(Error=STRING, Cause=STRING))}}
    yield "task-graph", {"$ref": "#/definitions/task", "definitions": {"task": record("id", id=INTEGER, title=STRING, after=many(INTEGER, uniqueItems=True), parts=many(ref("task", "definitions")))}}
    yield "makefile", mapping(record(deps=many(STRING), cmds=many({"oneOf": [STRING, record("task", task=STRING)]}), silent=BOOLEAN))
    yield "pipeline", many(tagged("op", map=record("field", field=STRING), filter=record("where", where={}), join=record("with on", on=STRING, **{"with": STRING}), limit=record("n", n=COUNT)), minItems=1, maxItems=20)


def manifests():
    version = text("^\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$")
    person = {"type": ["object", "string"], "properties": {"name": STRING, "email": EMAIL, "url": URL}, "required": ["name"]}
    yield "npm-package", {"$schema": DRAFT7, **record("name version", name=text("^(?:@[a-z0-9-*~][a-z0-9-*._~]*/)?[a-z0-9-~][a-z0-9-._~]*$", maxLength=214),
        version=STRING, description=STRING, keywords=many(STRING), author=ref("person", "definitions"), dependencies=mapping(STRING), scripts=mapping(STRING),
        files=many(STRING), private={"anyOf": [BOOLEAN, one("false", "true")]}, engines=mapping(STRING), _definitions={"person": person})}
    yield "cargo", record(package=record("name version", name=STRING, version=version, edition=one("2015", "2018", "2021"), license=STRING),
        dependencies=mapping({"anyOf": [STRING, closed(version=STRING, features=many(STRING), optional=BOOLEAN, path=STRING, git=URL)]}))
    yield "pyproject", record(project=record("name", name=text("^([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9])$"), version=STRING,
        dynamic=many(one("version", "readme"), uniqueItems=True), dependencies=many(STRING), authors=many(record(name=STRING, email=EMAIL)),
        readme={"anyOf": [STRING, record("file", file=STRING), record("text", text=STRING)]}), **{"build-system": record("requires", requires=many(STRING))})
    yield "composer", record(name=text("^[a-z0-9]([_.-]?[a-z0-9]+)*/[a-z0-9](([_.]|-{1,2})?[a-z0-9]+)*$"), require=mapping(STRING), repositories={"anyOf": [
        many(record("type", type=STRING)), mapping({"anyOf": [BOOLEAN, {"type": "object"}]})]}, license={"type": ["string", "array"], "items": STRING})
    yield "chrome-extension", record("manifest_version name version", manifest_version={"type": "integer", "minimum": 2, "maximum": 3}, name={"type": "string", "maxLength": 45},
        version=text("^(?:\\d{1,5}\\.){0,3}\\d{1,5}$"), permissions=many(STRING, uniqueItems=True), icons=mapping(STRING, propertyNames={"pattern": "^[0-9]+$"}))
    yield "web-app", record(name=STRING, short_name=STRING, icons=many(record("src", src={"type": "string", "format": "uri-reference"}, sizes=text("^([0-9]+x[0-9]+|any)$"))),
        display=one("fullscreen", "standalone", "browser"), theme_color=STRING)
    yield "helm-chart", closed("apiVersion name version", apiVersion=one("v1", "v2"), name=STRING, version=version, appVersion={"type": ["string", "number"]},
        dependencies=many(record("name version", name=STRING, version=STRING, repository=STRING, condition=STRING)))
    yield "docker-compose", record(version=STRING, services={"type": "object", "patternProperties": {"^[a-zA-Z0-9._-]+$": ref("service")}, "additionalProperties": False},
        **{"_$defs": {"service": record(image=STRING, build={"oneOf": [STRING, record(context=STRING, args=mapping({"type": ["string", "number", "null"]}))]},
        ports=many({"oneOf": [NUMBER, text("^[0-9:]+$"), record("target", target=INTEGER)]}), environment={"oneOf": [mapping({"type": ["string", "number", "null"]}), many(STRING)]},
        depends_on={"oneOf": [many(STRING), mapping(record("condition", condition=STRING))]})}})
    yield "openvsx", record("publisher engines", publisher=text("^[a-zA-Z0-9-]+$"), engines=record("vscode", vscode=STRING), contributes=record(
        commands=many(record("command title", command=STRING, title=STRING)), keybindings=many(record(key=STRING, command=STRING, when=STRING))))
    yield "lockfile", record("lockfileVersion packages", lockfileVersion=one(1, 2, 3), packages=mapping(record(version=STRING, resolved=URL, integrity=text("^sha512-[A-Za-z0-9+/=]+$"),
        dependencies=mapping(STRING), dev=BOOLEAN)))
    yield "citation", record("cff-version title authors", **{"cff-version": {"const": "1.2.0"}}, title=TEXT, doi=text("^10\\.\\d{4,9}(\\.\\d+)?/[A-Za-z0-9:/_;\\-\\.\\(\\)\\[\\]\\\\]+$"),
        authors=many({"anyOf": [record("name", name=TEXT), record("family-names", **{"family-names": TEXT})]}, minItems=1))
    yield "license-list", many(record("licenseId", licenseId=STRING, isOsiApproved=BOOLEAN, seeAlso=many(URL)), uniqueItems=True)
    yield "flatpak", record(id=text("^[A-Za-z_][\\w\\-]*(\\.[A-Za-z_][\\w\\-]*){2,}$"), modules=many({"oneOf": [STRING, record("name", name=STRING, sources=many({"type": "object"}))]}), _x_name=1)


def resources():
    meta = record(name=text("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength=63), namespace=STRING, labels=mapping(STRING), annotations=mapping(STRING), generation={"type": "integer", "format": "int64"})
    quantity = {"oneOf": [STRING, INTEGER]}
    container = record("name image", name=STRING, image=STRING, args=many(STRING), ports=many(record("containerPort", containerPort={"type": "integer", "format": "int32"}, protocol=one("TCP", "UDP"))),
        env=many(record("name", name=STRING, value=STRING)), resources=record(limits=mapping(quantity), requests=mapping(quantity)), **{"_x-kubernetes-list-type": "map"})
    pod = record("containers", containers=many(container, minItems=1), restartPolicy=one("Always", "OnFailure", "Never"), nodeSelector=mapping(STRING))
    template = record(metadata=meta, spec=pod)

    def resource(kind, spec, version="v1"):
        return record("apiVersion kind metadata", apiVersion=one(version), kind=one(kind), metadata=meta, spec=spec)

    yield "pod", resource("Pod", pod)
    yield "deployment", resource("Deployment", record("template", replicas={"type": "integer", "minimum": 0}, selector=record(matchLabels=mapping(STRING)), template=template,
        strategy=record(type=one("Recreate", "RollingUpdate"))), "apps/v1")
    yield "service", resource("Service", record(type=one("ClusterIP", "NodePort", "LoadBalancer"), ports=many(record("port", port=INTEGER, targetPort={"anyOf": [INTEGER, STRING]})), selector=mapping(STRING)))
    yield "config-map", {**resource("ConfigMap", {}), "properties": {**resource("ConfigMap", {})["properties"], "data": mapping(STRING), "binaryData": mapping({"type": "string", "format": "byte"})}}
    yield "secret", resource("Secret", mapping({"type": "string", "format": "byte"}))
    yield "ingress", resource("Ingress", record(rules=many(record(host={"type": "string", "format": "hostname"}, http=record(paths=many(record("path backend", path=text("^/"), backend={"type": "object"})))))), "networking.k8s.io/v1")
    yield "cron-job", resource("CronJob", record("schedule jobTemplate", schedule=STRING, jobTemplate=record(spec=record(template=template)), suspend=BOOLEAN), "batch/v1")
    yield "crd", resource("CustomResourceDefinition", record("group names scope", group=STRING, scope=one("Cluster", "Namespaced"), names=record("plural kind", plural=STRING, kind=STRING, shortNames=many(STRING)),
        versions=many(record("name served", name=text("^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$"), served=BOOLEAN, schema=record(openAPIV3Schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True})))))
    yield "network-policy", resource("NetworkPolicy", record(podSelector=record(matchExpressions=many(record("key operator", key=STRING, operator=one("In", "NotIn", "Exists"), values=many(STRING)))),
        policyTypes=many(one("Ingress", "Egress"), uniqueItems=True, minItems=1)), "networking.k8s.io/v1")
    yield "volume", resource("PersistentVolume", {"type": "object", "properties": {"capacity": mapping(quantity), "nfs": record("server path", server=STRING, path=STRING), "hostPath": record("path", path=STRING)},
        "oneOf": [{"required": ["nfs"]}, {"required": ["hostPath"]}]})
    yield "resource-list", record("items", items=many({"anyOf": [resource("Pod", pod), resource("Secret", {"type": "object"})]}))
    yield "terraform-plan", record("format_version resource_changes", format_version=text("^[0-9]+\\.[0-9]+$"), resource_changes=many(record("address change", address=STRING,
        change=record("actions", actions=many(one("no-op", "create", "read", "update", "delete"), minItems=1, maxItems=2), before={}, after={}))))
    yield "cloudformation", record("Resources", AWSTemplateFormatVersion=one("2010-09-09"), Parameters={"type": "object", "patternProperties": {"^[a-zA-Z0-9]+$": record("Type", Type=STRING, Default={})}, "additionalProperties": False, "maxProperties": 50},
        Resources={"type": "object", "patternProperties": {"^[a-zA-Z0-9]{1,255}$": record("Type", Type=text("^[a-zA-Z0-9]+::[a-zA-Z0-9]+::[a-zA-Z0-9]+$"), Properties={"type": "object"}, DependsOn={"type": ["string", "array"]})}, "additionalProperties": False})
    yield "iam-policy", record("Version Statement", Version=one("2012-10-17", "2008-10-17"), Statement=many({"type": "object", "properties": {"Sid": STRING, "Effect": one("Allow", "Deny"), "Action": {"oneOf": [STRING, many(STRING)]},
        "NotAction": {"oneOf": [STRING, many(STRING)]}, "Resource": {"oneOf": [STRING, many(STRING)]}}, "required": ["Effect"], "oneOf": [{"required": ["Action"]}, {"required": ["NotAction"]}], "additionalProperties": False}))
    yield "any-name", {"type": "object", "patternProperties": {"^.{1,255}$": {}}}
    yield "tag-map", {"type": "object", "patternProperties": {"^.{1,128}$": {"type": "string", "maxLength": 256}}, "additionalProperties": False}


def geography():
    position = many(NUMBER, minItems=2, maxItems=3)
    line = many(ref("position"), minItems=2)
    kinds = {"Point": ref("position"), "MultiPoint": many(ref("position")), "LineString": line, "MultiLineString": many(line), "Polygon": many(many(ref("position"), minItems=4)),
             "MultiPolygon": many(many(many(ref("position"), minItems=4)))}
    shapes = [record("type coordinates", type=one(kind), coordinates=coordinates, bbox=many(NUMBER, minItems=4)) for kind, coordinates in kinds.items()]
    for shape in shapes:
        yield "geojson-" + shape["properties"]["type"]["enum"][0].lower(), {**shape, "$defs": {"position": position}}
    defs = {"position": position, "geometry": {"oneOf": shapes}, "feature": record("type properties geometry", type=one("Feature"), id={"oneOf": [NUMBER, STRING]},
            properties={"oneOf": [{"type": "null"}, {"type": "object"}]}, geometry={"oneOf": [{"type": "null"}, ref("geometry")]})}
    yield "geojson-feature", {**ref("feature"), "$defs": defs}
    yield "geojson", {"title": "GeoJSON", "oneOf": [ref("geometry"), ref("feature"), record("type features", type=one("FeatureCollection"), features=many(ref("feature")))], "$defs": defs}
    yield "topology", record("type objects arcs", type=one("Topology"), objects=mapping(record("type", type=STRING, arcs={"type": "array"})), arcs=many(many({"type": "array", "prefixItems": [NUMBER, NUMBER]})))
    yield "coordinates", {"type": "object", "properties": {"lat": {"type": "number", "minimum": -90, "maximum": 90}, "lon": {"type": "number", "minimum": -180, "maximum": 180}}, "dependentRequired": {"lat": ["lon"], "lon": ["lat"]}}
    yield "address", {"$schema": DRAFT4, **record("locality region country-name", **{"post-office-box": STRING, "extended-address": STRING, "street-address": STRING, "locality": STRING, "region": STRING, "postal-code": STRING, "country-name": STRING}),
        "dependencies": {"post-office-box": ["street-address"], "extended-address": ["street-address"]}}
    yield "route", record("legs", legs=many(record("distance duration", distance=MONEY, duration=COUNT, mode=one("walk", "bus", "train"))), polyline=STRING, bounds=record(north=NUMBER, south=NUMBER, _additionalProperties=False))
    yield "map-style", record("version layers sources", version=one(8), sources=mapping(record("type", type=one("vector", "raster", "geojson"), url=STRING, tiles=many(STRING))),
        layers=many(record("id type", id=STRING, type=one("fill", "line", "symbol"), minzoom={"type": "number", "minimum": 0, "maximum": 24}, paint=mapping({}), filter={"type": "array"})))


def interfaces():
    yield "openapi", record("openapi info paths", openapi=text("^3\\.1\\.\\d+(-.+)?$"), info=record("title version", title=STRING, version=STRING, contact=record(email=EMAIL, url=URL)),
        paths={"type": "object", "patternProperties": {"^/": ref("path")}, "additionalProperties": False}, servers=many(record("url", url={"type": "string", "format": "uri-reference"})), **{"_$defs": {
            "path": record(summary=STRING, get=ref("operation"), put=ref("operation"), post=ref("operation"), delete=ref("operation")),
            "operation": record(operationId=STRING, tags=many(STRING), parameters=many(ref("parameter")), responses={"type": "object", "patternProperties": {"^[1-5](?:[0-9]{2}|XX)$": record("description", description=STRING)}, "minProperties": 1}),
            "parameter": {"type": "object", "properties": {"name": STRING, "in": one("query", "header", "path", "cookie"), "required": BOOLEAN, "schema": {"type": ["object", "boolean"]}}, "required": ["name", "in"],
                          "if": {"properties": {"in": {"const": "path"}}}, "then": {"required": ["required"], "properties": {"required": {"const": True}}}}}})
    yield "json-rpc", record("jsonrpc method", jsonrpc=one("2.0"), method=text("^[^r]|^r[^p]"), params={"type": ["array", "object"]}, id={"type": ["string", "integer", "null"]})
    yield "json-rpc-reply", {"type": "object", "properties": {"jsonrpc": one("2.0"), "id": {"type": ["string", "integer", "null"]}, "result": {}, "error": record("code message", code=INTEGER, message=STRING)},
        "required": ["jsonrpc", "id"], "oneOf": [{"required": ["result"]}, {"required": ["error"]}]}
    yield "problem", record(type={"type": "string", "format": "uri-reference"}, title=STRING, status={"type": "integer", "minimum": 100, "maximum": 599}, detail=STRING)
    yield "json-patch", many({"oneOf": [record("op path value", op=one("add", "replace", "test"), path=ref("pointer"), value={}), record("op path", op=one("remove"), path=ref("pointer")),
        record("op path from", op=one("move", "copy"), path=ref("pointer"), **{"from": ref("pointer")})]}) | {"$defs": {"pointer": {"type": "string", "format": "json-pointer"}}}
    yield "hal", record("_links") | {"properties": {"_links": mapping({"oneOf": [ref("link"), many(ref("link"))]})}, "$defs": {"link": record("href", href={"type": "string", "format": "uri-reference"}, templated=BOOLEAN)}}
    yield "webhook", record("event data", event=one("created", "deleted"), data={"type": "object"}, timestamp=TIME, signature=text("^sha256=[0-9a-f]{64}$"))
    yield "oauth-token", record("access_token token_type", access_token=TEXT, token_type=text("^[Bb]earer$"), expires_in=COUNT, scope=STRING)
    yield "jwk", tagged("kty", RSA=record("n e", n=text("^[A-Za-z0-9_-]+$"), e=text("^[A-Za-z0-9_-]+$")), EC=record("crv x y", crv=one("P-256", "P-384"), x=STRING, y=STRING), oct=record("k", k=STRING))
    yield "graphql-request", record("query", query=TEXT, variables={"type": ["object", "null"]}, operationName={"type": ["string", "null"]})
    yield "har", record("log", log=record("version entries", version=STRING, entries=many(record("request response", startedDateTime=TIME, time=NUMBER, request=record("method url", method=STRING, url=URL, headers=many(record("name value", name=STRING, value=STRING))),
        response=record("status", status=INTEGER)))))
    yield "page", record("items", items=many({}), next={"anyOf": [URL, {"type": "null"}]}, total=COUNT)
    yield "cloud-event", record("id source specversion type", id=TEXT, source={"type": "string", "format": "uri-reference", "minLength": 1}, specversion=TEXT, type=TEXT, time={"type": ["string", "null"], "format": "date-time"}, data={}, data_base64={"type": "string", "contentEncoding": "base64"},
        _not={"required": ["data", "data_base64"]})
    yield "search-query", {"$ref": "#/definitions/query", "definitions": {"query": {"type": "object", "minProperties": 1, "maxProperties": 1, "properties": {"match": mapping(STRING), "bool": record(must=many(ref("query", "definitions")), should=many(ref("query", "definitions"))),
        "range": mapping(record(gte={"type": ["number", "string"]}, lt={"type": ["number", "string"]}))}, "additionalProperties": False}}}


def tools():
    """Parameters of functions."""
    yield "weather", closed("city", city={"type": "string", "description": "A city"}, unit=one("celsius", "fahrenheit"))
    yield "no-parameters", record()
    yield "search-web", record("query", query=TEXT, max_results={"type": "integer", "minimum": 1, "maximum": 50, "default": 10}, site=STRING, recency_days={"type": ["integer", "null"]})
    yield "send-mail", record("to subject body", to=many(EMAIL, minItems=1), cc=many(EMAIL), subject={"type": "string", "maxLength": 200}, body=STRING)
    yield "create-event", record("title start", title=TEXT, start=TIME, end=TIME, attendees=many(EMAIL, uniqueItems=True), reminders=many({"type": "integer", "enum": [5, 10, 30, 60]}, uniqueItems=True))
    yield "book-flight", record("from to date", **{"from": text("^[A-Z]{3}$"), "to": text("^[A-Z]{3}$")}, date=DATE, passengers={"type": "integer", "minimum": 1, "maximum": 9}, cabin=one("economy", "business", "first"))
    yield "area", record("shape dimensions", shape=one("circle", "rectangle", "triangle"), dimensions={"type": "object", "properties": {"radius": NUMBER, "length": NUMBER, "width": NUMBER, "base": NUMBER, "height": NUMBER},
        "oneOf": [{"required": ["radius"]}, {"required": ["length", "width"]}, {"required": ["base", "height"]}]})
    yield "convert-currency", record("amount from_currency to_currency", amount=NUMBER, from_currency=text("^[A-Z]{3}$"), to_currency=text("^[A-Z]{3}$"))
    yield "edit-file", closed("path edits", path=TEXT, edits=many(closed("old new", old=STRING, new=STRING, all=BOOLEAN), minItems=1), dry_run={"type": "boolean", "default": False})
    yield "run-shell", closed("command", command={"anyOf": [STRING, many(STRING, minItems=1)]}, timeout_ms={"type": "integer", "exclusiveMinimum": 0, "maximum": 600000}, cwd=STRING, env=mapping(STRING))
    yield "grep", closed("pattern", pattern=TEXT, path=STRING, glob=STRING, output_mode=one("content", "files", "count"), **{"-A": COUNT, "-B": COUNT, "-i": BOOLEAN, "head_limit": COUNT})
    yield "sql", record("query", query=TEXT, params=many({"type": ["string", "number", "boolean", "null"]}), timeout={"type": "number", "multipleOf": 0.5})
    yield "plan", closed("steps", steps=many(closed("step status", step=TEXT, status=one("pending", "in_progress", "completed")), minItems=1), explanation=STRING)
    yield "chart", record("kind series", kind=one("bar", "line", "pie"), series=many(record("name data", name=STRING, data=many({"type": ["number", "null"]}))), options={"type": "object"})
    yield "translate", record("text target", text=STRING, target=text("^[a-z]{2}$"), formality={"type": "string", "enum": ["formal", "informal"], "nullable": True})
    yield "memory", {"anyOf": [closed("op key", op={"const": "get"}, key=TEXT), closed("op key value", op={"const": "set"}, key=TEXT, value=STRING)], "type": "object"}
    yield "browser", {"type": "object", "oneOf": [closed("action url", action={"const": "open"}, url=URL), closed("action selector", action={"const": "click"}, selector=STRING), closed("action x y", action={"const": "scroll"}, x=INTEGER, y=INTEGER)]}
    yield "password", record("length", length={"type": "integer", "minimum": 8, "maximum": 128}, symbols=BOOLEAN, exclude={"type": "string", "maxLength": 20})
    yield "bmi", record("weight height", weight={"type": "number", "exclusiveMinimum": 0}, height={"type": "number", "exclusiveMinimum": 0, "maximum": 3}, unit=one("metric", "imperial"))
    yield "extract-people", closed("people", people=many(closed("name age", name=STRING, age={"type": ["integer", "null"]}, aliases=many(STRING))))
    yield "classify", closed("label confidence", label=one("spam", "ham", "unsure"), confidence={"type": "number", "minimum": 0, "maximum": 1}, reasons=many(STRING, maxItems=3))
    yield "pydantic", {"title": "Answer", "type": "object", "properties": {"steps": {"title": "Steps", "type": "array", "items": ref("Step")}, "final": {"anyOf": [STRING, {"type": "null"}], "default": None, "title": "Final"}}, "required": ["steps"],
        "$defs": {"Step": {"title": "Step", "type": "object", "properties": {"text": {"title": "Text", "type": "string"}}, "required": ["text"]}}}
    yield "discriminated", {"oneOf": [ref("Cat"), ref("Dog")], "discriminator": {"propertyName": "pet", "mapping": {"cat": "#/$defs/Cat"}}, "$defs": {
        "Cat": record("pet", pet={"const": "cat", "type": "string"}, lives={"type": "integer", "minimum": 0, "maximum": 9}), "Dog": record("pet", pet={"const": "dog", "type": "string"}, tricks=many(STRING))}}
    yield "zod", {"$schema": DRAFT7, **closed("id", id={"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991}, when={"type": "string", "format": "date-time"}, meta={"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}})}


def commerce():
    product = record("sku name price", sku=text("^[A-Z0-9]{3,12}$"), name=TEXT, price=MONEY, currency=one("EUR", "USD", "GBP"), tags=many(STRING, uniqueItems=True), stock=COUNT, dimensions=record("w h d", w=NUMBER, h=NUMBER, d=NUMBER))
    yield "product", product
    yield "cart", record("items", items=many(record("product quantity", product=product, quantity={"type": "integer", "minimum": 1, "maximum": 99})), coupon={"type": ["string", "null"], "maxLength": 20})
    yield "order", {"$ref": "#/$defs/order", "$defs": {"order": record("id lines total", id=UUID, placed=TIME, lines=many(ref("line"), minItems=1), total=MONEY, shipping=ref("address")), "line": record("sku qty", sku=STRING, qty=COUNT), "address": record("street city", street=STRING, city=STRING, zip=text("^\\d{5}(-\\d{4})?$"))}}
    yield "payment", tagged("method", card=record("number expiry", number=text("^[0-9]{13,19}$"), expiry=text("^(0[1-9]|1[0-2])/[0-9]{2}$"), cvc=text("^[0-9]{3,4}$")), iban=record("iban", iban=text("^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$")), invoice=record())
    yield "invoice", record("number date lines", number=STRING, date=DATE, due=DATE, lines=many(record("text amount", text=STRING, amount={"type": "number", "multipleOf": 0.01}, tax=one(0, 7, 19))), paid=BOOLEAN)
    yield "customer", record("name", name=TEXT, email=EMAIL, phone=text("^\\+?[0-9 ()-]{6,20}$"), birthday=DATE, vip=BOOLEAN, _anyOf=[{"required": ["email"]}, {"required": ["phone"]}])
    yield "tax-id", {"type": "object", "properties": {"name": STRING, "ssn": text("^\\d{3}-\\d{2}-\\d{4}$"), "ein": text("^\\d{2}-\\d{7}$")}, "required": ["name"], "oneOf": [{"required": ["ssn"]}, {"required": ["ein"]}], "additionalProperties": False}
    yield "shipment", record("carrier tracking", carrier=one("ups", "dhl", "fedex"), tracking=TEXT, events=many(record("at status", at=TIME, status=STRING, where=STRING)), weight={"type": "number", "exclusiveMinimum": 0, "maximum": 70, "unit": "kg"})
    yield "review", closed("rating", rating={"type": "integer", "minimum": 1, "maximum": 5}, text={"type": "string", "maxLength": 2000}, images=many(URL, maxItems=4))
    yield "subscription", record("plan", plan=one("free", "pro", "team"), seats=COUNT, _if={"properties": {"plan": {"const": "team"}}}, _then={"required": ["seats"], "properties": {"seats": {"minimum": 2}}}, _else={"properties": {"seats": {"maximum": 1}}})
    yield "price-rule", {"oneOf": [record("percent", percent={"type": "number", "minimum": 0, "maximum": 100}), record("amount", amount=MONEY)]}
    yield "category", {"$ref": "#/definitions/node", "definitions": {"node": record("name", name=STRING, slug=text("^[a-z0-9]+(?:-[a-z0-9]+)*$"), children=many(ref("node", "definitions")))}}
    yield "opening-hours", {"type": "object", "patternProperties": {"^(mon|tue|wed|thu|fri|sat|sun)$": many(closed("open close", open=text("^([01]\\d|2[0-3]):[0-5]\\d$"), close=text("^([01]\\d|2[0-3]):[0-5]\\d$")), maxItems=3)}, "additionalProperties": False}
    yield "gift-card", record("code", code=text("^(?!0000)[0-9]{4}(-[0-9]{4}){3}$"), balance=MONEY)


def records():
    yield "user", {"$schema": DRAFT4, "id": "http://example.com/user", **record("id name", id=COUNT, name=STRING, roles=many(one("admin", "editor", "viewer"), uniqueItems=True), created={"type": "string", "format": "google-datetime"}, avatar={"type": ["string", "null"], "format": "uri"})}
    yield "article", record("title body", title={"type": "string", "minLength": 5, "maxLength": 120}, body=STRING, authors=many(STRING, minItems=1), published={"oneOf": [DATE, {"type": "null"}]}, related=many({"type": "string", "format": "uri-reference"}))
    yield "comment-tree", record("text", text=STRING, replies=many({"$ref": "#"}))
    yield "linked-list", {"anyOf": [{"type": "null"}, record("value next", value=INTEGER, next={"$ref": "#"})]}
    yield "expression", {"$ref": "#/$defs/e", "$defs": {"e": {"oneOf": [NUMBER, text("^[a-z]$"), record("op args", op=one("+", "-", "*", "/"), args=many(ref("e"), minItems=2, maxItems=2))]}}}
    yield "patient", record("id name", id=STRING, name=many(record(family=STRING, given=many(STRING), use=one("usual", "official"))), gender=one("male", "female", "other", "unknown"), birthDate=DATE, deceased={"oneOf": [BOOLEAN, TIME]}, _resourceDefinition="x")
    yield "observation", record("status code", status=one("final", "amended"), code=STRING, valueQuantity=record("value", value=NUMBER, unit=STRING), valueString=STRING, valueBoolean=BOOLEAN, _oneOf=[{"required": ["valueQuantity"]}, {"required": ["valueString"]}, {"required": ["valueBoolean"]}])
    yield "sensor", record("at readings", at=TIME, readings=mapping({"type": "number", "minimum": -273.15, "maximum": 5000}, minProperties=1))
    yield "snowplow-event", {"self": {"vendor": "com.example", "name": "click", "format": "jsonschema", "version": "1-0-0"}, **closed("target_id", target_id={"type": "string", "maxLength": 255}, value={"type": ["number", "null"], "maximum": 2147483647}, classes={"type": ["array", "null"], "items": STRING})}
    yield "measurement", {"type": "object", "properties": {"value": NUMBER, "unit": STRING, "error": {"type": "number", "minimum": 0}}, "required": ["value"], "dependencies": {"error": {"required": ["unit"]}}, "$schema": DRAFT7}
    yield "chess-move", text("^([KQRBN]?[a-h]?[1-8]?x?[a-h][1-8](=[QRBN])?|O-O(-O)?)[+#]?$")
    yield "recipe", record("name ingredients steps", name=STRING, servings={"type": "integer", "minimum": 1}, ingredients=many(record("item", item=STRING, amount={"type": ["number", "string"]}, unit=STRING), minItems=1), steps=many(TEXT, minItems=1), time={"type": "string", "format": "duration"})
    yield "cv", record("basics", basics=record("name", name=STRING, email=EMAIL, url=URL, profiles=many(record(network=STRING, username=STRING))), work=many(record(company=STRING, startDate=text("^([1-2][0-9]{3}-[0-1][0-9]-[0-3][0-9]|[1-2][0-9]{3})$"), highlights=many(STRING))), skills=many(record(name=STRING, keywords=many(STRING))))
    yield "poll", record("question options", question=TEXT, options=many(record("id text", id=INTEGER, text=STRING), minItems=2, maxItems=10, uniqueItems=True), multiple=BOOLEAN, closes={"anyOf": [TIME, {"type": "null"}]})
    yield "network", record("interfaces", interfaces=many(record("name", name=text("^[a-z]+[0-9]{1,3}$"), ipv4=many({"type": "string", "format": "ipv4"}), ipv6=many({"type": "string", "format": "ipv6"}), mtu={"type": "integer", "minimum": 68, "maximum": 65535})))
    yield "file-list", many(record("path", path=text("^(?:/[^/\\u0000]+)+$"), mode=text("^0[0-7]{3}$"), size=COUNT, sha256=text("^[a-f0-9]{64}$")))
    yield "mixed-enum", {"enum": ["a", "b", 1], "oneOf": [STRING, INTEGER]}
    yield "color", {"oneOf": [text("^#[0-9a-f]{6}$"), one("red", "green", "blue"), {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}, "minItems": 3, "maxItems": 4}]}
    yield "matrix", many(many(NUMBER, minItems=3, maxItems=3), minItems=3, maxItems=3)
    yield "not-reserved", record("name", name={"type": "string", "pattern": "^[a-z]+$", "not": one("root", "admin")}, _additionalProperties=False)
    yield "either", {"type": "object", "properties": {"a": STRING, "b": STRING, "c": STRING}, "additionalProperties": False, "anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}], "not": {"required": ["a", "b", "c"]}}
    yield "any", {}
    yield "big-enum", {"type": "string", "enum": [f"country-{i}" for i in range(250)]}
    yield "many-properties", closed(" ".join(f"field{i}" for i in range(0, 60, 5)), **{f"field{i}": STRING if i % 3 else INTEGER for i in range(60)})
    yield "deep", record(a=record(b=record(c=record(d=record(e=record(f=many(record(g=STRING))))))))
    yield "units", {"type": "object", "patternProperties": {"_ms$": COUNT, "_pct$": {"type": "number", "minimum": 0, "maximum": 100}}, "additionalProperties": {"type": ["string", "boolean"]}}
    yield "versions", {"type": "object", "properties": {"version": {"anyOf": [text("^v?\\d+$"), {"const": "latest"}]}}, "patternProperties": {"^x-": {}}, "additionalProperties": False}


def meta_schemas():
    types = ["array", "boolean", "integer", "null", "number", "object", "string"]
    node = {"$ref": "#"}
    yield "draft-7", {"$schema": DRAFT7, "type": ["object", "boolean"], "definitions": {"count": COUNT, "list": many(node, minItems=1), "type": one(*types), "strings": many(STRING, uniqueItems=True, default=[])}, "properties": {
        "$id": {"type": "string", "format": "uri-reference"}, "$ref": {"type": "string", "format": "uri-reference"}, "title": STRING, "default": True, "multipleOf": {"type": "number", "exclusiveMinimum": 0}, "maximum": NUMBER,
        "maxLength": ref("count", "definitions"), "pattern": {"type": "string", "format": "regex"}, "items": {"anyOf": [node, ref("list", "definitions")]}, "required": ref("strings", "definitions"), "properties": mapping(node),
        "patternProperties": {"type": "object", "additionalProperties": node, "propertyNames": {"format": "regex"}}, "dependencies": mapping({"anyOf": [node, ref("strings", "definitions")]}), "const": True, "enum": many(True),
        "type": {"anyOf": [ref("type", "definitions"), many(ref("type", "definitions"), minItems=1, uniqueItems=True)]}, "if": node, "then": node, "allOf": ref("list", "definitions"), "not": node}}
    yield "json-type", {"oneOf": [one(*types), many(one(*types), minItems=1, uniqueItems=True)]}
    yield "table-schema", record("fields", fields=many(record("name", name=STRING, type=one("string", "number", "integer", "date"), constraints=record(required=BOOLEAN, unique=BOOLEAN, enum=many({})), format=STRING), minItems=1), primaryKey={"oneOf": [many(STRING, uniqueItems=True), STRING]})
    yield "avro", {"$ref": "#/definitions/schema", "definitions": {"schema": {"oneOf": [ref("primitive", "definitions"), many(ref("schema", "definitions")), record("type name fields", type=one("record"), name=text("^[A-Za-z_][A-Za-z0-9_]*$"),
        fields=many(record("name type", name=STRING, type=ref("schema", "definitions")))), record("type items", type=one("array"), items=ref("schema", "definitions"))]}, "primitive": one("null", "boolean", "int", "long", "string")}}
    yield "form", many(tagged("widget", text=record("name", name=TEXT, placeholder=STRING), select=record("name options", name=TEXT, options=many({"anyOf": [STRING, record("label value", label=STRING, value={})]})), group=record("fields", fields=many(record("name", name=STRING)))))


def corpus():
    families = [configurations, workflows, manifests, resources, geography, interfaces, tools, commerce, records, meta_schemas]
    return {f"{family.__name__}/{name}": schema for family in families for name, schema in family()}
