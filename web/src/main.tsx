import { render } from "preact";
import { App } from "./app.tsx";
import { startUp } from "./chat/actions.ts";
import "./ui/theme.ts";

render(<App />, document.getElementById("app")!);
startUp();
