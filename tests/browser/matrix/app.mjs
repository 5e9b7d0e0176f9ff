// The whole of Hydrogen, a Matrix web client that is not ours, as its own main does it.
import { createNavigation, createRouter, FeatureSet, Platform, RootViewModel } from "hydrogen-view-sdk";

const platform = new Platform({
  container: document.querySelector("#app"),
  config: { defaultHomeServer: new URLSearchParams(location.search).get("homeserver") },
  assetPaths: {
    downloadSandbox: "assets/download-sandbox.html",
    worker: "assets/main.js",
    olm: { wasm: "olm/olm.wasm", legacyBundle: "olm/olm_legacy.js", wasmBundle: "olm/olm.js" },
    serviceWorker: "sw.js",
  },
  options: { development: false },
});
await platform.init();
const navigation = createNavigation();
platform.setNavigation(navigation);
const urlRouter = createRouter({ navigation, history: platform.history });
urlRouter.attach();
const features = await FeatureSet.load(platform.settingsStorage);
const root = new RootViewModel({ platform, urlRouter, navigation, features });
await root.load();
platform.createAndMountRootView(root);
